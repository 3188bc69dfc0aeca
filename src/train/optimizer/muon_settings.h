// MuonSettings: Muon instead of AdamW for hidden matrices, without torch. muon.h computes it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace kw::train {

// By what an orthogonalised update of a matrix [rows, columns] is multiplied beside the rate.
//   match_rms_adamw  0.2 sqrt(max(rows, columns)): its entries have the root mean square of an
//                    update of AdamW, whose learning rate serves  (Moonlight, arXiv 2502.16982)
//   original         sqrt(max(1, rows / columns))                 (Jordan's reference, 2024)
enum class MuonScale : std::uint8_t { kMatchRmsAdamW, kOriginal };
inline constexpr std::array<std::string_view, 2> kMuonScaleNames = {"match_rms_adamw", "original"};

struct MuonSettings {
  std::string optimizer = "adamw";  // or muon: for hidden matrices; all else has AdamW
  double learning_rate = 0;         // of these matrices; 0: the learning rate of all else
  double momentum = 0.95;
  std::string scale = "match_rms_adamw";

  bool is_chosen() const { return optimizer == "muon"; }
  MuonScale scale_kind() const {
    return scale == kMuonScaleNames[1] ? MuonScale::kOriginal : MuonScale::kMatchRmsAdamW;
  }
};

// Matrices of one shape are computed together, up to so many numbers (or one matrix), and
// kMuonBlocks copies of them exist meanwhile.
inline constexpr std::int64_t kMuonNumbers = std::int64_t{1} << 24;
inline constexpr std::int64_t kMuonBlocks = 4;

}  // namespace kw::train
