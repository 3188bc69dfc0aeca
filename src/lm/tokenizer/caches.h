// Word caches lent to encoding calls, so that threads share none: private to tokenizer.cc and
// tokenizer_json.cc.
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lm/tokenizer/tokenizer.h"

namespace kw::lm {

// Keeps as many caches (1 MiB each) as calls ever ran at once.
class Tokenizer::Caches {
 public:
  class Loan {
   public:
    Loan(Caches& from, std::unique_ptr<WordCache> cache) : from_(from), cache_(std::move(cache)) {}
    ~Loan() {
      std::lock_guard lock(from_.mutex_);
      from_.free_.push_back(std::move(cache_));
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    WordCache& operator*() { return *cache_; }

   private:
    Caches& from_;
    std::unique_ptr<WordCache> cache_;
  };

  Loan borrow() {
    std::unique_ptr<WordCache> cache;
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        cache = std::move(free_.back());
        free_.pop_back();
      }
    }
    return {*this, cache ? std::move(cache) : std::make_unique<WordCache>()};
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCache>> free_;
};

}  // namespace kw::lm
