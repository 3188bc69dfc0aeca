#include "writer/generate/argument_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace kw::writer::generate {
namespace {

struct Phrases {
  std::string_view name;
  std::vector<std::string_view> texts;
};

const std::vector<Phrases>& all_phrases() {
  static const std::vector<Phrases> all = {
      {"batch_size", {"number of samples in a batch", "batch size", "samples processed at once"}},
      {"in_channels", {"number of input channels", "channels of the input"}},
      {"channels", {"number of channels", "channels of the feature map"}},
      {"out_channels", {"number of output channels", "channels that the layer produces"}},
      {"in_features", {"size of each input sample", "number of input features"}},
      {"out_features", {"size of each output sample", "number of output features"}},
      {"num_features", {"number of channels to normalise", "number of features"}},
      {"num_groups", {"number of groups the channels are split into", "groups of the norm"}},
      {"hidden_size", {"width of the hidden state", "dimension of the hidden layer"}},
      {"input_size", {"number of expected features in the input", "width of the input"}},
      {"embed_dim", {"total dimension of the model", "width of the embeddings"}},
      {"d_model", {"width of the model", "dimension of the residual stream"}},
      {"dim", {"feature dimension, or the dimension to work on", "dimension"}},
      {"features", {"number of features", "width of a row"}},
      {"seq_len", {"length of the sequence", "number of tokens"}},
      {"num_heads", {"number of attention heads", "parallel attention heads"}},
      {"head_dim", {"width of one head", "dimension of each attention head"}},
      {"height", {"height of the input", "rows of the image"}},
      {"width", {"width of the input", "columns of the image"}},
      {"depth", {"depth of the volume", "slices of the volume"}},
      {"length", {"length of the input", "number of time steps"}},
      {"num_embeddings", {"size of the vocabulary", "rows of the table"}},
      {"vocab_size", {"size of the vocabulary", "number of tokens it knows"}},
      {"embedding_dim", {"size of each embedding vector", "width of the table"}},
      {"kernel_size", {"size of the window", "edge of the kernel", "window of the operator"}},
      {"stride", {"step of the window", "distance between two windows"}},
      {"padding", {"elements added on both sides of the input", "implicit padding"}},
      {"output_padding", {"extra size added to one side of the output"}},
      {"dilation", {"spacing between the elements of the window", "dilation of the kernel"}},
      {"groups",
       {"number of blocked connections from inputs to outputs",
        "groups of channels that do not mix"}},
      {"bias", {"whether a learnable bias is added", "adds a bias if True"}},
      {"affine", {"whether scale and shift are learned", "learnable affine parameters"}},
      {"eps", {"added to the denominator for numerical stability", "small number below the root"}},
      {"negative_slope", {"slope for negative inputs", "angle of the negative part"}},
      {"alpha", {"scale of the negative part", "the alpha of the activation"}},
      {"beta", {"where the loss or the curve changes its form", "sharpness"}},
      {"margin", {"margin of the loss", "distance that is asked for"}},
      {"delta", {"where the loss changes from squared to absolute", "threshold of the loss"}},
      {"min_val", {"lower bound", "smallest value that passes"}},
      {"max_val", {"upper bound", "largest value that passes"}},
      {"min_value", {"lower bound", "smallest value that is let through"}},
      {"max_value", {"upper bound", "largest value that is let through"}},
      {"scaling_factor", {"factor the output is multiplied by", "scale"}},
      {"scale_factor", {"multiplier of the spatial size", "how much larger the output is"}},
      {"add_value", {"constant that is added", "offset"}},
      {"subtract_value", {"constant that is subtracted", "offset to take away"}},
      {"divisor", {"number to divide by", "divisor of the output"}},
      {"fill_value", {"value put at masked positions", "replacement"}},
      {"output_size", {"size of the output in each dimension", "target size"}},
      {"normalized_shape", {"size of the last dimension", "shape that is normalised"}},
      {"k", {"how many elements are kept", "number of candidates"}},
      {"diagonal", {"offset of the diagonal", "which diagonal to keep from"}},
      {"window", {"keys that a query sees", "size of the attention window"}},
      {"keepdim", {"whether the reduced dimension stays", "keeps the reduced dimension"}},
  };
  return all;
}

std::string spaced(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

}  // namespace

std::string description(const ArgumentWords& argument, Rng& rng) {
  for (const Phrases& one : all_phrases()) {
    if (one.name != argument.wanted) continue;
    std::string out(one.texts[rng.below(one.texts.size())]);
    if (!argument.owner.empty() && rng.uniform() < 0.2)
      out += fmt::format(" ({})", spaced(argument.owner));
    return out;
  }
  if (argument.owner.empty()) return fmt::format("size of the {} dimension", argument.wanted);
  return fmt::format("{} of the {}", spaced(argument.wanted), spaced(argument.owner));
}

std::string argument_line(const ArgumentWords& argument, Rng& rng) {
  std::string out = argument.name;
  const bool optional = !argument.standard.empty();
  if (rng.uniform() < 0.75)
    out +=
        fmt::format(" ({}{})", argument.type, optional && rng.uniform() < 0.6 ? ", optional" : "");
  std::string text = description(argument, rng);
  if (rng.uniform() < 0.5)
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  out += ": " + text;
  if (rng.uniform() < 0.4) out += '.';
  if (optional && rng.uniform() < 0.6)
    out += fmt::format("{} Default: {}", out.ends_with('.') ? "" : ".", argument.standard);
  return out;
}

}  // namespace kw::writer::generate
