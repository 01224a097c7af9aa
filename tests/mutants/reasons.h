// The reasons why a mutant need not be killed: a list maintained by hand beside the tool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/mutants/source.h"

namespace mutants {

/// A change of a line that no test detects.
///
///   actors/contexts/contexts.cc: const bool present = node_.lives().up(peer);
///   = swapped a, b :: both are the same here
///
/// A second line that begins with `=` states that no program can distinguish the mutant from the original (it is not
/// counted). One with `-` states that a program could, and why no test does (it counts as a survivor).
struct Reason {
  std::string file;
  std::string line;    ///< the line's text, as line_of returns it
  std::string change;  ///< "negated x"
  bool is_equivalent = false;
  std::string text;
};

/// Skips empty lines and those that begin with `#`. Throws std::runtime_error for any other malformed line.
[[nodiscard]] std::vector<Reason> reasons_of(std::string_view text);

/// Returns the name of a place: its line without surrounding spaces, and the line before if the line is too short to
/// identify it.
[[nodiscard]] std::string line_of(const Source& source, int line);

/// Returns the reason for that change; null if there is none.
[[nodiscard]] const Reason* find_reason(const std::vector<Reason>& reasons, std::string_view file,
                                        std::string_view line, std::string_view change);

}  // namespace mutants
