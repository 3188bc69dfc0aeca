// The options of kernelwright launch: plain structs with the defaults.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kw::front {

// Processes, jobs or actors with serve-model, each with an address file of its own, model-1.json
// and so on.
struct ModelServers {
  std::string model;  // a Hugging Face folder; empty: there are none
  int count = 1;
  std::vector<std::string> options;  // of serve-model, "--device=cuda"
};

// One server and its workers as processes of this machine.
struct LaunchLocalCommand {
  std::string data;  // folder of the tasks and of server.json
  int workers = 1;
  int jobs = 1;               // judgements in flight of each worker
  int port = 8100;            // 0: any free one
  std::string tokens;         // as for serve; the workers' stands in KERNELWRIGHT_API_KEY
  double lease_seconds = 30;  // as for serve
  std::string isolation = "none";
  ModelServers models;
};

// Jobs of Slurm. Words that go into sbatch files are checked by check_words() of sbatch.h.
struct LaunchSlurmCommand {
  std::string folder;  // that all nodes share
  std::string out;     // the files are written here, and nothing is submitted
  bool print = false;  // the files are printed, and nothing is written or submitted
  std::string name = "kernelwright";
  // Every job.
  std::string partition, account, time = "1-00:00:00";
  std::vector<std::string> sbatch;  // further options, "--qos=high"
  int drain_seconds = 120;          // between the request to stop and the time limit
  // The server.
  int server_cpus = 2, port = 0;
  std::string server_memory = "4GiB", server_node, data;
  std::string tls_certificate, tls_key;  // empty: a certificate that signs itself
  // Each worker.
  int workers = 1, jobs = 1, cpus = 4;
  std::string memory = "8GiB", gres, isolation = "none";
  // Each model server.
  ModelServers models;
  int model_cpus = 8;
  std::string model_memory = "32GiB", model_gres;
};

// A server on this machine; workers and model servers as actors of a Ray cluster.
struct LaunchRayCommand {
  std::string folder;            // of the tasks, tokens and server.json, on this machine
  std::string address = "auto";  // of the cluster; auto: the one that this machine is part of
  std::string python = "python3";
  // The server.
  std::string host = "0.0.0.0", public_name;
  int port = 0;
  double lease_seconds = 30;
  std::string tls_certificate, tls_key;  // empty: a certificate that signs itself
  // Each worker.
  int workers = 1, jobs = 1, cpus = 4, gpus = 0;
  std::string memory = "8GiB", isolation = "none";
  // Each model server.
  ModelServers models;
  int model_cpus = 8, model_gpus = 0;
  std::string model_memory = "32GiB";
};

}  // namespace kw::front
