// Theory of operation. Workers take the next index and make its line; the calling thread writes the
// lines in order. A worker waits when it is a window ahead of the file, so memory is bounded; a
// line depends on its index alone, so the file is the same for any number of workers.
#include "data/generate.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/text.h"
#include "data/files.h"

namespace kw::data {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kShowEvery = 1U << 20U;  // bytes
constexpr std::uint64_t kAhead = 64;             // lines a worker

class Stream {
 public:
  Stream(const GenerateOptions& options, std::uint64_t first, int workers)
      : options_(options),
        next_(first),
        written_(first),
        ring_(kAhead * static_cast<std::uint64_t>(workers)) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Stream() { stop(); }

  // Returns the line of the next index.
  Result<std::string> take() {
    std::unique_lock lock(mutex_);
    std::optional<Result<std::string>>& place = ring_[written_ % ring_.size()];
    ready_.wait(lock, [&] { return place.has_value(); });
    KW_CHECK(place.has_value());
    Result<std::string> out = std::move(*place);
    place.reset();
    ++written_;
    room_.notify_all();
    return out;
  }

 private:
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    threads_.clear();
  }

  void work() {
    while (true) {
      std::uint64_t index = 0;
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stopping_ || next_ < written_ + ring_.size(); });
        if (stopping_ || next_ >= options_.count) return;
        index = next_++;
      }
      Result<std::string> line = line_of(index);
      std::lock_guard lock(mutex_);
      ring_[index % ring_.size()] = std::move(line);
      ready_.notify_one();
    }
  }

  Result<std::string> line_of(std::uint64_t index) const {
    KW_TRY(const Sample sample, generate_sample(options_, index));
    return to_line(sample) + "\n";
  }

  const GenerateOptions& options_;
  std::mutex mutex_;
  std::condition_variable ready_, room_;
  std::uint64_t next_, written_;
  bool stopping_ = false;
  std::vector<std::optional<Result<std::string>>> ring_;
  std::vector<std::jthread> threads_;
};

// Whole lines of a file that an earlier run left, at most options.count, of which the last must be
// of this stream.
Result<GenerateCounts> lines_of(const fs::path& path, const GenerateOptions& options) {
  GenerateCounts out;
  std::error_code error;
  if (!fs::exists(path, error) || fs::file_size(path, error) == 0) return out;
  std::string last;
  {
    KW_TRY(LineReader reader, LineReader::open(path));
    const std::uint64_t size = fs::file_size(path, error);
    for (std::string_view line;;) {
      KW_TRY(const bool more, reader.next(line));
      if (!more) break;
      if (out.bytes + line.size() + 1 > size) break;  // without its end: cut while written
      if (out.rows == options.count) break;           // a partial file of a longer run ends here
      out.bytes += line.size() + 1;
      ++out.rows;
      last = line;
    }
  }
  out.before = out.rows;
  if (out.rows == 0) return out;
  KW_TRY(const Sample sample, generate_sample(options, out.rows - 1));
  if (to_line(sample) != last)
    return fail(ErrorCode::kInvalidArgument,
                "{} was made with other settings: line {} is not the one of this seed and mix; "
                "remove it or give another name",
                path.string(), out.rows);
  return out;
}

}  // namespace

Result<Mix> mix_from_text(std::string_view text) {
  Mix out{0, 0, 0, 0, 0};
  const std::vector<std::pair<std::string, double*>> names = {{"implement", &out.implement},
                                                              {"convert", &out.convert},
                                                              {"definition", &out.definition},
                                                              {"repair", &out.repair},
                                                              {"speedup", &out.speedup}};
  for (const std::string& word : split(text, ',')) {
    const std::size_t sign = word.find('=');
    const std::string name(trim(word.substr(0, sign)));
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& one) { return one.first == name; });
    if (found == names.end())
      return fail(ErrorCode::kInvalidArgument,
                  "--mix: unknown kind \"{}\"; expected implement, convert, definition, repair or "
                  "speedup, as in \"implement=60,convert=40\"",
                  printable(name, 40));
    const std::string number =
        sign == std::string::npos ? "" : std::string(trim(word.substr(sign + 1)));
    const bool plain = !number.empty() && number.size() < 16 &&
                       number.find_first_not_of("0123456789.") == std::string::npos &&
                       std::count(number.begin(), number.end(), '.') <= 1 && number != ".";
    if (!plain)
      return fail(ErrorCode::kInvalidArgument, "--mix: {}: expected a number, not \"{}\"", name,
                  printable(number, 40));
    *found->second = std::stod(number);
  }
  if (out.implement + out.convert + out.definition + out.repair + out.speedup <= 0)
    return fail(ErrorCode::kInvalidArgument, "--mix: all parts are 0");
  return out;
}

Result<GenerateCounts> generate_file(const fs::path& path, const GenerateOptions& options,
                                     const GenerateProgress& progress,
                                     const std::stop_token& stop) {
  KW_TRY(OutputFile file, OutputFile::go_on(path));
  KW_TRY(GenerateCounts counts, lines_of(file.partial(), options));
  KW_TRY_STATUS(file.cut(counts.bytes));
  const int workers = options.workers > 0
                          ? options.workers
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (counts.rows < options.count) {
    Stream stream(options, counts.rows, workers);
    std::uint64_t shown = file.bytes();
    while (counts.rows < options.count) {
      if (stop.stop_requested()) {
        KW_TRY_STATUS(file.flush());
        return fail(ErrorCode::kCancelled,
                    "stopped after {} of {} samples; the same command goes on", counts.rows,
                    options.count);
      }
      KW_TRY(const std::string line, stream.take());
      KW_TRY_STATUS(file.append(line));
      ++counts.rows;
      counts.bytes = file.bytes();
      if (!progress || counts.bytes - shown < kShowEvery) continue;
      shown = counts.bytes;
      progress(counts);
    }
  }
  KW_TRY_STATUS(file.close());
  if (progress) progress(counts);
  return counts;
}

}  // namespace kw::data
