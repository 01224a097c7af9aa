// What a language model has learnt: how well it guesses, and what it writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/scope.h"
#include "samples/language_model/model.h"
#include "samples/language_model/text.h"
#include "samples/language_model/windows.h"

namespace samples {

/// exp(-mean(log(probability of the word that really follows))), nothing dropped out.
[[nodiscard]] double perplexity(const troupe::Scope& scope, LanguageModel& model, const Windows& text);

/// Goes on from `tokens` by `count` words, drawn with the model's probabilities.
[[nodiscard]] std::string generate(const troupe::Scope& scope, LanguageModel& model, const Corpus& corpus,
                                   std::vector<std::int64_t> tokens, int count, troupe::Generator& random);

}  // namespace samples
