#include "kernelwright/cli/service_command_line.h"

#include "kernelwright/cli/help_text.h"

namespace kw::front {

namespace {

void add_submit(CLI::App& app, ServiceCommands& commands, const AddCommand& add) {
  SubmitCommand& submit = commands.submit;
  CLI::App& s = *add(
      app, "submit", "put candidates into a server's queue and leave",
      [&commands] { return commands.submit; }, kSubmitFooter);
  text(s, "PROBLEM", submit.problem, "", "as for eval")->required();
  s.add_option("CANDIDATE", submit.candidates, "as for eval; one or more")
      ->type_name("")
      ->required();
  add_server(s, submit.server);
  text(s, "--group", submit.group, "NAME", "to wait for them together; without it a new one");
  number(s, "--priority", submit.priority, "N", "the higher, the earlier");
  number(s, "--deadline", submit.deadline_seconds, "S",
         "from now to the verdict, in seconds; 0: none");
  flag(s, "--json", submit.json, kJsonHelp);
  text(s, "--language", submit.language, "NAME", "of the candidates, as for eval");
  set_words(s, submit.set, kSetConstant);
  add_eval_settings(s, submit.options, commands.submit_words);
}

void add_queue(CLI::App& app, ServiceCommands& commands, const AddCommand& add) {
  CLI::App& q = *add(
      app, "queue", "show a server's queue, or what became of a group",
      [&commands] { return commands.queue; }, kQueueFooter);
  add_server(q, commands.queue.server);
  text(q, "--group", commands.queue.group, "NAME", "that submit has printed");
  flag(q, "--wait", commands.queue.wait, "until all of the group has ended");
  flag(q, "--json", commands.queue.json, kJsonHelp);
}

void add_store(CLI::App& s, ServeCommand& serve) {
  const char* const group = "Several servers";
  text(s, "--store", serve.store, "URL",
       "redis://HOST:PORT/DATABASE: tasks lie there, one server leads, others wait; without it in "
       "--data")
      ->group(group);
  number(s, "--leader-lease", serve.leader_lease_seconds, "S",
         "until another server takes the place of a silent one, in seconds")
      ->group(group);
  flag(s, "--accept-everysec", serve.accept_everysec,
       "a Redis that syncs once a second: a loss of power may lose what was acknowledged then")
      ->group(group);
  flag(s, "--allow-plaintext-store", serve.allow_plaintext_store,
       "a Redis of another machine: tasks and password can be read on the way")
      ->group(group);
}

}  // namespace

void add_service_commands(CLI::App& app, ServiceCommands& commands, const AddCommand& add) {
  CLI::App& s = *add(
      app, "serve", "keep a queue of judgements for workers",
      [&commands] { return commands.serve; }, kServeFooter);
  text(s, "--data", commands.serve.data, "DIR",
       "folder of the tasks and the audit log; made when it is missing")
      ->required();
  text(s, "--host", commands.serve.host, "ADDRESS", "to listen on");
  number(s, "--port", commands.serve.port, "N", "0: any free one");
  text(s, "--tokens", commands.serve.tokens, "FILE",
       "tokens of clients and workers, one a line; without it none is asked for");
  text(s, "--tls-certificate", commands.serve.tls_certificate, "FILE",
       "PEM, the whole chain; SIGHUP reads it again");
  text(s, "--tls-key", commands.serve.tls_key, "FILE", "PEM");
  flag(s, "--self-signed", commands.serve.self_signed,
       "TLS with a certificate made now, which clients get from --address-file");
  flag(s, "--allow-plaintext", commands.serve.allow_plaintext,
       "listen on other than loopback addresses without TLS: a proxy adds it");
  text(s, "--address-file", commands.serve.address_file, "FILE",
       "write here where it listens: clients and workers can take the file's path for the URL");
  text(s, "--public-name", commands.serve.public_name, "NAME",
       "of this machine, for that file; without it the host's name or --host");
  number(s, "--lease", commands.serve.lease_seconds, "S",
         "until a silent worker counts as lost, in seconds");
  number(s, "--most-connections", commands.serve.most_connections, "N",
         "at once; the limit of open files is raised to it where it can be");
  number(s, "--unserved", commands.serve.unserved_seconds, "S",
         "tasks that no worker here can judge fail after so many seconds; 0: they wait");
  add_store(s, commands.serve);
  CLI::App& w = *add(
      app, "worker", "judge what a server hands out", [&commands] { return commands.worker; },
      kWorkerFooter);
  add_server(w, commands.worker.server);
  text(w, "--name", commands.worker.name, "NAME",
       "what the server calls it; without it the machine's name and the process number");
  text(w, "--state", commands.worker.state, "FILE",
       "of the leases that it has: one that starts with it after a sudden death tells the server");
  text(w, "--stage", commands.worker.stage, "STAGE",
       "judge, or compile: fill the build cache with what waits, for workers that share it");
  text(w, "--compile-for", commands.worker.compile_for, "SM",
       "with --stage compile: of the GPUs for which device code is compiled, such as sm_90a");
  number(w, "--jobs", commands.worker.jobs, "N", "judgements in flight; timing is never parallel");
  add_isolation(w, commands.isolation);
  add_submit(app, commands, add);
  add_queue(app, commands, add);
}

Status finish(ServiceCommands& commands) {
  std::uint64_t unused = 0;
  KW_TRY_STATUS(
      read_words({.isolation = commands.isolation}, unused, commands.worker.isolation_at_least));
  KW_TRY_STATUS(read_words(commands.submit_words, commands.submit.options.memory_bytes,
                           commands.submit.isolation_at_least));
  commands.submit.baseline = commands.submit_words.baseline;
  KW_TRY_STATUS(check_range("--deadline", commands.submit.deadline_seconds, 0, 30 * 86400.0));
  KW_TRY_STATUS(check_range("--port", commands.serve.port, 0, 65535));
  KW_TRY_STATUS(check_range("--lease", commands.serve.lease_seconds, 0.5, 3600));
  KW_TRY_STATUS(check_range("--most-connections", commands.serve.most_connections, 1, 1000000));
  KW_TRY_STATUS(check_range("--unserved", commands.serve.unserved_seconds, 0, 30 * 86400.0));
  KW_TRY_STATUS(check_range("--leader-lease", commands.serve.leader_lease_seconds, 0.3, 3600));
  KW_TRY_STATUS(check_range("--jobs", commands.worker.jobs, 1, 1024));
  if (commands.worker.stage != "judge" && commands.worker.stage != "compile")
    return fail(ErrorCode::kInvalidArgument,
                "--stage: neither judge nor compile; see kernelwright worker --help");
  return {};
}

}  // namespace kw::front
