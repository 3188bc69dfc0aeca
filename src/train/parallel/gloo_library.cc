// libkw_gloo.so: collectives over gloo's TCP transport. Sees neither torch nor the rest of ours.
#include "train/parallel/gloo_library.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

struct kw_gloo {
  std::shared_ptr<gloo::rendezvous::Context> context;
  std::vector<float> received;  // a piece from each other rank
  std::uint64_t slot = 1U << 20U;
};

namespace {

thread_local std::string error_text;

// gloo sets its own addresses once and gets those of the others: one exchange.
class ExchangeStore : public gloo::rendezvous::Store {
 public:
  ExchangeStore(int size, kw_gloo_exchange exchange, void* context)
      : exchange_(exchange), context_(context), all_(static_cast<std::size_t>(size)) {}
  void set(const std::string& /*key*/, const std::vector<char>& data) override {
    const auto take = [](void* to, int rank, const char* bytes, std::size_t size) {
      (*static_cast<std::vector<std::vector<char>>*>(to))[static_cast<std::size_t>(rank)].assign(
          bytes, bytes + size);
    };
    if (exchange_(context_, data.data(), data.size(), take, &all_) != 0)
      throw gloo::Exception("the other ranks' addresses did not come");
  }
  std::vector<char> get(const std::string& key) override {
    const std::size_t digits = key.find_last_not_of("0123456789") + 1;  // a rank ends the key
    return all_.at(static_cast<std::size_t>(std::stoi(key.substr(digits))));
  }
  void wait(const std::vector<std::string>& /*keys*/) override {}

 private:
  kw_gloo_exchange exchange_;
  void* context_;
  std::vector<std::vector<char>> all_;
};

template <typename Body>
int guarded(const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    error_text = e.what();
  } catch (...) {
    error_text = "unknown";
  }
  return 1;
}

// Numbers, and bytes, that travel at once to each rank.
constexpr std::int64_t kPiece = std::int64_t{1} << 20, kPieceBytes = kPiece * 4;

// The piece's part of a rank's shard; longest: of a piece.
std::pair<std::int64_t, std::size_t> piece_of(const std::int64_t* begins, int rank,
                                              std::int64_t from, std::int64_t longest) {
  const std::int64_t size = begins[rank + 1] - begins[rank];
  return {begins[rank] + from,
          static_cast<std::size_t>(std::clamp<std::int64_t>(size - from, 0, longest))};
}

std::int64_t largest_shard(const std::int64_t* begins, int size) {
  std::int64_t out = 0;
  for (int rank = 0; rank < size; ++rank) out = std::max(out, begins[rank + 1] - begins[rank]);
  return out;
}

using Buffers = std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>>;

// Ranks send to each other at once: the address and bytes that `outgoing` and `incoming` say for
// each other rank.
template <typename Outgoing, typename Incoming>
void send_to_each_other(kw_gloo& g, const Outgoing& outgoing, const Incoming& incoming) {
  gloo::Context& context = *g.context;
  const std::uint64_t slot = g.slot++;
  Buffers sends, receives;
  for (int step = 1; step < context.size; ++step) {
    const int from = (context.rank + context.size - step) % context.size;
    const auto [into, in_count] = incoming(from);
    if (in_count > 0) {
      receives.push_back(context.createUnboundBuffer(into, in_count));
      receives.back()->recv(from, slot);
    }
    const int to = (context.rank + step) % context.size;
    const auto [data, out_count] = outgoing(to);
    if (out_count > 0) {
      sends.push_back(context.createUnboundBuffer(data, out_count));
      sends.back()->send(to, slot);
    }
  }
  for (auto& one : receives) one->waitRecv(context.getTimeout());
  for (auto& one : sends) one->waitSend(context.getTimeout());
}

template <typename T>
void all_reduce(kw_gloo& g, T* values, std::size_t count) {
  gloo::AllreduceOptions options(g.context);
  options.setOutput(values, count);
  options.setReduceFunction(
      [](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<T>(c, a, b, n); });
  options.setTag(1);
  gloo::allreduce(options);
}

}  // namespace

kw_gloo* kw_gloo_open(int rank, int size, const char* address, int64_t limit_ms,
                      kw_gloo_exchange exchange, void* context) {
  kw_gloo* out = nullptr;
  guarded([&] {
    auto made = std::make_unique<kw_gloo>();
    gloo::transport::tcp::attr attributes;
    attributes.hostname = address;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    made->context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    made->context->setTimeout(std::chrono::milliseconds(limit_ms));
    ExchangeStore store(size, exchange, context);
    made->context->connectFullMesh(store, device);
    out = made.release();
  });
  return out;
}

void kw_gloo_close(kw_gloo* gloo) {
  guarded([&] { delete gloo; });
}

const char* kw_gloo_error(void) {
  return error_text.c_str();
}

int kw_gloo_all_reduce(kw_gloo* gloo, void* values, size_t count, int is_double) {
  return guarded([&] {
    if (is_double != 0)
      all_reduce(*gloo, static_cast<double*>(values), count);
    else
      all_reduce(*gloo, static_cast<float*>(values), count);
  });
}

int kw_gloo_broadcast(kw_gloo* gloo, void* values, size_t bytes, int root) {
  return guarded([&] {
    gloo::BroadcastOptions options(gloo->context);
    options.setOutput(static_cast<char*>(values), bytes);
    options.setRoot(root);
    options.setTag(2);
    gloo::broadcast(options);
  });
}

int kw_gloo_reduce_scatter(kw_gloo* gloo, float* block, const int64_t* begins) {
  return guarded([&] {
    const int rank = gloo->context->rank, size = gloo->context->size;
    const std::int64_t largest = largest_shard(begins, size);
    for (std::int64_t from = 0; from < largest; from += kPiece) {
      const auto [begin, count] = piece_of(begins, rank, from, kPiece);
      gloo->received.resize(count * static_cast<std::size_t>(size));
      float* const received = gloo->received.data();
      const auto of_rank = [received, count = count](int other) {
        return received + static_cast<std::size_t>(other) * count;
      };
      std::copy_n(block + begin, count, of_rank(rank));
      send_to_each_other(
          *gloo,
          [&](int to) {
            const auto [place, numbers] = piece_of(begins, to, from, kPiece);
            return std::pair(block + place, numbers * sizeof(float));
          },
          [&, count = count](int other) {
            return std::pair(of_rank(other), count * sizeof(float));
          });
      float* const sums = block + begin;
      std::copy_n(of_rank(0), count, sums);
      for (int other = 1; other < size; ++other) {
        const float* const more = of_rank(other);
        for (std::size_t i = 0; i < count; ++i) sums[i] += more[i];
      }
    }
  });
}

int kw_gloo_all_gather(kw_gloo* gloo, char* block, const int64_t* begins) {
  return guarded([&] {
    const int rank = gloo->context->rank;
    const std::int64_t largest = largest_shard(begins, gloo->context->size);
    for (std::int64_t from = 0; from < largest; from += kPieceBytes) {
      const auto piece = [&](int of) {
        const auto [place, bytes] = piece_of(begins, of, from, kPieceBytes);
        return std::pair(block + place, bytes);
      };
      send_to_each_other(*gloo, [&](int /*to*/) { return piece(rank); }, piece);
    }
  });
}
