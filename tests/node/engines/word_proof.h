// A proof without MUNGE: the writer's name and the text's length.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "node/engines/record_proof.h"

namespace troupe::testing {

class WordProof final : public detail::RecordProof {
 public:
  explicit WordProof(std::string user) : user_(std::move(user)) {}

  [[nodiscard]] std::string of(std::string_view text) override {
    if (is_away) throw detail::ProofError("away");
    return user_ + "/" + std::to_string(text.size());
  }

  void check(const std::string& proof, std::string_view text) override {
    ++checks;
    if (is_away) throw detail::ProofError("away");
    if (proof != user_ + "/" + std::to_string(text.size())) throw std::invalid_argument(proof + " is no proof");
  }

  bool is_away = false;
  int checks = 0;

 private:
  std::string user_;
};

}  // namespace troupe::testing
