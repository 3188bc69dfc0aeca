#!/usr/bin/env python3
"""Decoding and prompts on one GPU with random weights of Qwen2.5's shapes, beside transformers in the same run.

    bench/lm_gpu_decode.py [--program build/dev/bin/kw_lm_gpu_bench] [--models 0.5B 1.5B 3B] [--decode 64x512 256x512] [--prefill 64x512@8192] [--profile] [--no-peer]

Ours: kw_lm_gpu_bench (bfloat16; temperature 1 with log-probabilities; one graph a step). Roofline: the bytes that a step must read (weights once, keys and values of all
sequences) over the bandwidth of a copy on the GPU in the same process. Peer: transformers in bfloat16 with sdpa and a static cache, a step of the whole batch at a time, softmax and
multinomial after it. Medians of the steps. MFU counts the products and attention of a prompt against 989e12 operations a second. Lines of JSON go to --out.
--first-token MODEL instead: the time from the start of a process to its first token with a checkpoint of that shape, first without compiled kernels from before, then with them; the
checkpoint is in the page cache.
Correctness of the same engine: kw_lm_cuda_test.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMON = {"model_type": "qwen2", "max_position_embeddings": 32768, "rope_theta": 1000000.0, "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "initializer_range": 0.02}
SHAPES = {
    "28M": {"vocab_size": 8192, "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1408},
    "0.5B": {"vocab_size": 151936, "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864},
    "1.5B": {"vocab_size": 151936, "hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2, "intermediate_size": 8960},
    "3B": {"vocab_size": 151936, "hidden_size": 2048, "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 2, "intermediate_size": 11008},
}


def first_token(arguments, name, scratch):
    settings, folder = pathlib.Path(scratch) / "settings.json", str(pathlib.Path(scratch) / "model")
    settings.write_text(json.dumps({"config": {**COMMON, **SHAPES[name]}}))
    subprocess.run([arguments.program, "--write-model", folder, str(settings)], check=True)
    environment = {**os.environ, "XDG_CACHE_HOME": str(pathlib.Path(scratch) / "cache"), "CUDA_CACHE_DISABLE": "1"}
    for kernels in ("to be compiled", "compiled before", "compiled before"):
        start = time.perf_counter()
        done = subprocess.run([arguments.program, "--first-token", folder], env=environment, stdout=subprocess.PIPE, text=True, check=True)
        line = {"model": name, "kernels": kernels, "process_seconds": time.perf_counter() - start, **json.loads(done.stdout)}
        print(f"{name} | kernels {kernels} | checkpoint read after {line['checkpoint_read_at']:.2f} s, engine made {line['engine_made_at']:.2f} s, first token "
              f"{line['first_token_at']:.2f} s, second {line['second_token_at']:.2f} s; the whole process {line['process_seconds']:.2f} s", flush=True)
        yield line


def ours(arguments, name, scratch):
    settings = {"config": {**COMMON, **SHAPES[name]}, "steps": arguments.steps, "profile": arguments.profile, "matmuls": arguments.matmuls,
                "graphs": not arguments.no_graphs, "overlap": not arguments.no_overlap, "split_tiles": arguments.split_tiles,
                "decode": [list(map(int, one.split("x"))) for one in arguments.decode],
                "prefill": [[*map(int, one.split("@")[0].split("x")), int(one.split("@")[1])] for one in arguments.prefill]}
    path = pathlib.Path(scratch) / f"{name}.json"
    path.write_text(json.dumps(settings))
    start = time.perf_counter()
    with subprocess.Popen([arguments.program, str(path)], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield {"model": name, "at_seconds": time.perf_counter() - start, **json.loads(line)}
    if process.returncode != 0:
        sys.exit(f"{name}: kw_lm_gpu_bench ended with {process.returncode}")


class Peer:
    """transformers, loaded when it is first needed: our process has the GPU before."""

    def __init__(self, name):
        import torch
        from transformers import AutoModelForCausalLM, Qwen2Config

        self.torch = torch
        torch.set_grad_enabled(False)
        config = Qwen2Config(**{key: value for key, value in {**COMMON, **SHAPES[name]}.items() if key not in ("model_type", "rope_theta")})
        with torch.device("cuda"):
            self.model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa").eval()

    def decode(self, batch, context, steps):
        """Tokens a second."""
        from transformers import StaticCache

        torch = self.torch
        cache = StaticCache(config=self.model.config, max_cache_len=context + steps + 8)
        ids = torch.randint(0, 1000, (batch, context), device="cuda")
        piece = max(1, 65536 // batch)  # of the prompts: their activations are large
        for first in range(0, context, piece):
            places = torch.arange(first, min(context, first + piece), device="cuda")
            out = self.model(ids[:, first:first + piece], past_key_values=cache, use_cache=True, cache_position=places, position_ids=places[None].expand(batch, -1), logits_to_keep=1)
        token = out.logits[:, -1].argmax(-1, keepdim=True)
        times = []
        for step in range(steps + 3):
            torch.cuda.synchronize()
            start = time.perf_counter()
            place = torch.tensor([context + step], device="cuda")
            out = self.model(token, past_key_values=cache, use_cache=True, cache_position=place, position_ids=place[None].expand(batch, -1), logits_to_keep=1)
            token = torch.multinomial(torch.softmax(out.logits[:, -1].float(), -1), 1)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        return batch / statistics.median(times[3:])

    def prefill(self, sequences, tokens):
        """Seconds; as many sequences at once as 16,384 tokens."""
        torch = self.torch
        together = max(1, 16384 // tokens)
        ids = torch.randint(0, 1000, (sequences, tokens), device="cuda")
        times = []
        for _ in range(3):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for first in range(0, sequences, together):
                self.model(ids[first:first + together], use_cache=True, logits_to_keep=1)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        return statistics.median(times[1:])


def print_decode(line, peer):
    print(f"{line['model']} | decode {line['batch']} x {line['context']} | {line['tokens_per_second']:,.0f} tokens/s | {line['step_ms']:.3f} ms | "
          f"{line['of_roofline']:.0%} of {line['roofline_tokens_per_second']:,.0f} | copy {line['copy_bytes_per_second'] / 1e12:.2f} TB/s"
          + (f" | transformers {peer:,.0f}: {line['tokens_per_second'] / peer:.1f} times" if peer else ""), flush=True)


def print_prefill(line, peer):
    print(f"{line['model']} | prompts {line['sequences']} x {line['tokens']}, steps of {line['step_tokens']} | {line['tokens_per_second']:,.0f} tokens/s | {line['seconds'] * 1e3:.1f} ms | "
          f"MFU {line['mfu']:.1%}" + (f" | transformers {peer * 1e3:.1f} ms: {peer / line['seconds']:.1f} times" if peer else ""), flush=True)


def print_details(line):
    for stages in (line.get("stage_ms"), line.get("stage_ms_of_a_step")):
        if stages:
            print("    stages, ms (each launched by itself): " + ", ".join(f"{name} {ms:.3f}" for name, ms in sorted(stages.items(), key=lambda one: -one[1])))
    print("    products: " + "; ".join(line["matmuls"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/dev/bin/kw_lm_gpu_bench"))
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=["0.5B", "1.5B", "3B"])
    parser.add_argument("--decode", nargs="*", default=["64x512"], help="BATCHxCONTEXT")
    parser.add_argument("--prefill", nargs="*", default=["64x512@8192"], help="SEQUENCESxTOKENS@STEP")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--matmuls", choices=["batch_invariant", "fastest"], default="batch_invariant")
    parser.add_argument("--split-tiles", type=int, default=0)
    parser.add_argument("--no-graphs", action="store_true")
    parser.add_argument("--no-overlap", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--first-token", choices=SHAPES)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.first_token:
            lines += first_token(arguments, arguments.first_token, scratch)
        for name in [] if arguments.first_token else arguments.models:
            measured = list(ours(arguments, name, scratch))
            peer = None if arguments.no_peer else Peer(name)
            for line in measured:
                if line["measure"] == "decode":
                    line["peer_tokens_per_second"] = peer and peer.decode(line["batch"], line["context"], min(arguments.steps, 20))
                    print_decode(line, line["peer_tokens_per_second"])
                else:
                    line["peer_seconds"] = peer and peer.prefill(line["sequences"], line["tokens"])
                    print_prefill(line, line["peer_seconds"])
                if arguments.profile:
                    print_details(line)
                lines.append(line)
            if peer:
                peer.torch.cuda.empty_cache()
    if arguments.out:
        pathlib.Path(arguments.out).write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
