#include "samples/language_model/writing.h"

#include <string_view>

#include "tensor/ops_nn.h"

namespace samples {

std::int64_t draw(const troupe::Tensor& scores, std::int64_t excluded, troupe::Generator& random) {
  const troupe::Tensor probabilities = troupe::softmax(scores).contiguous();
  const auto p = probabilities.data<float>();
  double left = random.uniform() * (1.0 - static_cast<double>(p[static_cast<std::size_t>(excluded)]));
  std::int64_t last = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (static_cast<std::int64_t>(i) == excluded) continue;
    last = static_cast<std::int64_t>(i);
    left -= static_cast<double>(p[i]);
    if (left < 0) break;
  }
  return last;
}

std::string written(std::span<const std::string> words) {
  constexpr std::string_view kNoSpaceBefore = ".,;:!?)'\"";
  constexpr std::string_view kNoSpaceAfter = "('\"";
  std::string text;
  for (const std::string& word : words) {
    const bool joined = text.empty() || kNoSpaceBefore.find(word.front()) != std::string_view::npos ||
                        kNoSpaceAfter.find(text.back()) != std::string_view::npos;
    if (!joined) text += ' ';
    text += word;
  }
  return text;
}

}  // namespace samples
