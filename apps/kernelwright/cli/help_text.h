// The text below the options in --help.
#pragma once

namespace kw::front {

inline constexpr const char* kMainFooter = R"(
Results go to stdout, everything else to stderr. Exit codes: 0 fine, 1 a candidate failed, 2 we failed,
3 the isolation asked for is not available here, 130 interrupted.

  kernelwright problems list                  the problems that come with the program
  kernelwright eval relu my_relu.cpp          is it right, and how fast?
  kernelwright eval --help                    all about judging)";

inline constexpr const char* kEvalFooter = R"(
  kernelwright eval problems/relu mine.cpp yours.py
  kernelwright eval level1/19_ReLU.py relu.cpp --set batch_size=16 --set dim=4096
  kernelwright eval --dataset problems --solutions solutions/ --out traces.jsonl --resume)";

inline constexpr const char* kSolveFooter = R"(
  kernelwright solve relu --answers answers.jsonl
  kernelwright solve problems --model DIR --method refine --samples 8 --jobs 4 --run runs/mine
  kernelwright solve --resume --run runs/mine)";

inline constexpr const char* kCheckFooter = R"(
  kernelwright problems check problems --jobs 2
  kernelwright problems check KernelBench/level1 --out check.jsonl --markdown check.md --resume
  kernelwright problems check dataset.jsonl --set batch_size=16)";

inline constexpr const char* kPromptFooter = R"(
  kernelwright prompt problems/softmax --language cpp)";

inline constexpr const char* kReportFooter = R"(
  kernelwright report traces.jsonl --dataset problems --html report.html
  kernelwright report new.jsonl --baseline old.jsonl --json)";

inline constexpr const char* kGenerateFooter =
    R"(
JSON: {"choices": [{"index", "text", "token_ids", "logprobs", "finish_reason"}], "usage"}; finish_reason is stop or length.
A line of --prompts may have an "id", which is printed again, and its own n, temperature, top_p, top_k, min_p, max_tokens, stop, seed, ignore_end, stop_token_ids and top_logprobs.
The same seed, model and prompt give the same answer, whatever else is computed beside it.

A URL is a server with OpenAI's API (vLLM, SGLang, LiteLLM, hosted): --chat or --prompts with "messages". docs/openai_client.md says what is retried and counted.

  kernelwright generate --model DIR --prompt "def add(" --temperature 0
  kernelwright generate --model http://127.0.0.1:8000 --chat "Write a softmax kernel in C++.")";

inline constexpr const char* kModelImportFooter =
    R"(
Read are GGUF versions 2 and 3, architectures llama, qwen2 and qwen3, numbers as F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K, and byte-level tokenizers. The folder is what --model takes, and what transformers reads. docs/engine.md says more.

  kernelwright model import SmolLM2-135M-Instruct.Q4_1.gguf --out smollm2
  kernelwright generate --model smollm2 --chat "What is 2 + 2?" --temperature 0)";

inline constexpr const char* kModelMergeFooter =
    R"(
The adapter is one of PEFT: adapter_config.json and adapter_model.safetensors. kernelwright sft and rl with lora_rank write it beside each checkpoint, whose own weights have it added already.

  kernelwright model merge qwen2.5-0.5b --adapter my-adapter --out merged)";

inline constexpr const char* kServeModelFooter =
    R"(
OpenAI's API: /v1/models, /v1/completions, /v1/chat/completions; and /health, /metrics. docs/serving.md has the fields.
The URL goes to stdout when the model is loaded. Ctrl-C (or SIGTERM) finishes what is under way, and exits 0.

  kernelwright serve-model --model DIR --port 8000
  curl http://127.0.0.1:8000/v1/chat/completions --json '{"model": "NAME", "messages": [{"role": "user", "content": "hello"}]}')";

inline constexpr const char* kServeFooter = R"(
Addresses that other machines reach need --tokens and TLS. Every accepted task is on disk before its answer. docs/service.md has the API and the promises.
The URL goes to stdout. Ctrl-C (or SIGTERM) ends it; the next server over the same folder goes on.

  kernelwright serve --data tasks
  kernelwright worker --server http://127.0.0.1:8100
  kernelwright eval relu mine.cpp --judge http://127.0.0.1:8100)";

inline constexpr const char* kLaunchLocalFooter = R"(
The server's URL goes to stdout. What dies starts again. Ctrl-C (or SIGTERM) ends all. docs/launch.md says more.

  kernelwright launch local --data tasks --workers 2)";

inline constexpr const char* kLaunchSlurmFooter = R"(
The jobs' numbers go to stdout: server, workers, model servers. Clients take DIR/server.json for the URL and DIR/token for the token. docs/launch.md says more.

  kernelwright launch slurm --folder /shared/judge --workers 8 --gres gpu:1
  kernelwright launch slurm --folder /shared/judge --print)";

inline constexpr const char* kLaunchRayFooter = R"(
The server's URL goes to stdout. Clients take DIR/server.json for the URL and DIR/token for the token. What dies starts again, on other nodes if need be.
Every node has this program, its Python and the model at the same path. Ctrl-C (or SIGTERM) ends all. docs/launch.md says more.

  ray start --head
  kernelwright launch ray --folder judge --workers 8 --gpus 1)";

inline constexpr const char* kSubmitFooter = R"(
The group's name goes to stdout.

  kernelwright submit relu candidates/ --server http://127.0.0.1:8100)";

inline constexpr const char* kQueueFooter = R"(
Of a group a line a task that has ended, in that order. Exit codes: 0 all passed, 1 a candidate failed, 2 a task has no verdict.

  kernelwright queue --server http://127.0.0.1:8100
  kernelwright queue --server http://127.0.0.1:8100 --group NAME --wait)";

inline constexpr const char* kWorkerFooter = R"(
Ctrl-C (or SIGTERM) gives back what is under way. A token of the server's stands in KERNELWRIGHT_API_KEY.

  kernelwright worker --server http://127.0.0.1:8100 --jobs 2)";

}  // namespace kw::front
