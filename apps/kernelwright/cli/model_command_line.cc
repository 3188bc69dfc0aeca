#include "kernelwright/cli/model_command_line.h"

#include "kernelwright/cli/help_text.h"

namespace kw::front {
namespace {

void add_generate(CLI::App& app, GenerateCommand& generate, const AddCommand& add) {
  CLI::App& g = *add(
      app, "generate", "let a language model write", [&generate] { return generate; },
      kGenerateFooter);
  text(g, "--model", generate.model, "DIR|URL",
       "Hugging Face folder of a Qwen or Llama model, or a server with OpenAI's API")
      ->required();
  text(g, "--prompt", generate.prompt, "TEXT", "text to go on with")->group("Prompt, one of");
  text(g, "--chat", generate.chat, "TEXT", "a user's message, answered by the assistant")
      ->group("Prompt, one of");
  text(g, "--prompts", generate.prompts, "FILE",
       "JSON lines with \"prompt\", \"messages\" or \"token_ids\"; results are JSON lines")
      ->group("Prompt, one of");
  text(g, "--system", generate.system, "TEXT", "the system message before --chat")
      ->group("Prompt, one of");
  number(g, "--n", generate.request.n, "N", "answers to each prompt")->group("Sampling");
  number(g, "--temperature", generate.request.temperature, "T", "0: the likeliest token")
      ->group("Sampling");
  number(g, "--top-p", generate.request.top_p, "P", "of the likeliest tokens that reach P together")
      ->group("Sampling");
  number(g, "--top-k", generate.request.top_k, "K", "of the K likeliest tokens; 0: all")
      ->group("Sampling");
  number(g, "--min-p", generate.request.min_p, "P",
         "of tokens at least P times as likely as the likeliest")
      ->group("Sampling");
  number(g, "--max-tokens", generate.request.max_tokens, "M", "of each answer")->group("Sampling");
  g.add_option("--stop", generate.request.stop, "text that ends an answer; may be given again")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group("Sampling");
  text(g, "--seed", generate.seed, "S", "of the random numbers: the same gives the same answers")
      ->group("Sampling");
  flag(g, "--ignore-end", generate.request.ignore_end, "go on after the model's end of text")
      ->group("Sampling");
  add_engine_options(g, generate.engine, "Machine", "--threads",
                     "tokens of prompt and answer; 0: what the prompts need");
  flag(g, "--json", generate.json, "print JSON, one object a prompt");
  add_server_options(g, generate.server, true);
}

void add_serve_model(CLI::App& app, ServeModelCommand& serve_model, const AddCommand& add) {
  CLI::App& s = *add(
      app, "serve-model", "serve a language model with OpenAI's API",
      [&serve_model] { return serve_model; }, kServeModelFooter);
  text(s, "--model", serve_model.model, "DIR", "Hugging Face folder of a Qwen or Llama model")
      ->required();
  text(s, "--served-model-name", serve_model.served_model_name, "NAME",
       "what requests call the model; without it the folder's name");
  text(s, "--host", serve_model.host, "ADDRESS", "to listen on")->group("Network");
  number(s, "--port", serve_model.port, "N", "0: any free one")->group("Network");
  text(s, "--api-key", serve_model.api_key, "KEY",
       "that requests must send; others can see it in the list of processes, so rather set "
       "KERNELWRIGHT_API_KEY")
      ->group("Network");
  text(s, "--tls-certificate", serve_model.tls_certificate, "FILE", "PEM, the whole chain")
      ->group("Network");
  text(s, "--tls-key", serve_model.tls_key, "FILE", "PEM")->group("Network");
  flag(s, "--self-signed", serve_model.self_signed,
       "use a certificate made at the start; clients take it from --address-file")
      ->group("Network");
  text(s, "--address-file", serve_model.address_file, "FILE",
       "write URL and certificate there when it listens")
      ->group("Network");
  text(s, "--public-name", serve_model.public_name, "NAME",
       "of this machine, for that file; without it the host's name or --host")
      ->group("Network");
  flag(s, "--allow-plaintext", serve_model.allow_plaintext,
       "listen on other than loopback addresses without TLS: a proxy adds it")
      ->group("Network");
  number(s, "--max-waiting", serve_model.max_waiting, "N",
         "answers that may wait for a slot; over it: 429")
      ->group("Network");
  number(s, "--grace", serve_model.grace_seconds, "S",
         "for answers under way when it is asked to stop")
      ->group("Network");
  add_engine_options(s, serve_model.engine, "Machine", "--threads",
                     "tokens of prompt and answer, at most what the model has");
}

void add_import(CLI::App& model, ModelImportCommand& import, const AddCommand& add) {
  CLI::App& i = *add(
      model, "import", "write a GGUF file's model as a Hugging Face folder",
      [&import] { return import; }, kModelImportFooter);
  text(i, "FILE", import.file, "", "a GGUF file of a Llama or Qwen model")->required();
  text(i, "--out", import.out, "DIR", "folder that is written; it has no model yet")->required();
  text(i, "--dtype", import.dtype, "T", "of the weights: float32 or bfloat16");
  text(i, "--cut-vocabulary", import.cut_vocabulary, "DATA",
       "keep only the tokens that this .jsonl uses, and add missing bytes");
}

void add_merge(CLI::App& model, ModelMergeCommand& merge, const AddCommand& add) {
  CLI::App& m = *add(
      model, "merge", "add a LoRA adapter to a model's weights", [&merge] { return merge; },
      kModelMergeFooter);
  text(m, "MODEL", merge.model, "", "folder of the model to which it belongs")->required();
  text(m, "--adapter", merge.adapter, "DIR", "folder of the adapter, in PEFT's format")->required();
  text(m, "--out", merge.out, "DIR", "folder that is written; it has no model yet")->required();
  text(m, "--dtype", merge.dtype, "T",
       "of the weights: float32 or bfloat16; without it the model's");
}

}  // namespace

void add_model_group(CLI::App& model, ModelCommands& commands, const AddCommand& add) {
  add_import(model, commands.import, add);
  add_merge(model, commands.merge, add);
}

void add_model_commands(CLI::App& app, ModelCommands& commands, const AddCommand& add) {
  add_generate(app, commands.generate, add);
  add_serve_model(app, commands.serve_model, add);
}

}  // namespace kw::front
