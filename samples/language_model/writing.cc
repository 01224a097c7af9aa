#include "samples/language_model/writing.h"

#include <limits>
#include <string_view>

#include "tensor/sampling.h"

namespace samples {

std::int64_t draw(const troupe::Tensor& scores, std::int64_t excluded, troupe::Generator& random) {
  troupe::Tensor allowed = scores.clone();
  allowed.select(0, excluded).fill(-std::numeric_limits<double>::infinity());
  return troupe::categorical(allowed, random).item<std::int64_t>();
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
