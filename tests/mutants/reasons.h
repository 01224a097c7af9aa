// Why a mutant need not be killed: the list that people keep beside the tool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/mutants/source.h"

namespace mutants {

/// A change of a line that tests do not notice.
///
///   actors/contexts/contexts.cc: const bool present = node_.lives().up(peer);
///   = swapped a, b :: both are the same here
///
/// A second line that begins with `=` says that no program can tell the mutant from the original (it is not counted),
/// one with `-` that it could, and why no test does (it is counted as a survivor).
struct Reason {
  std::string file;
  std::string line;    ///< its text, as line_of
  std::string change;  ///< "negated x"
  bool is_equivalent = false;
  std::string text;
};

/// Empty lines and those that begin with `#` say nothing. Throws std::runtime_error for a line that is none of these.
[[nodiscard]] std::vector<Reason> reasons_of(std::string_view text);

/// What a reason names a place by: its line without the spaces around it, and the one before if it says little.
[[nodiscard]] std::string line_of(const Source& source, int line);

/// The one for that change; null if there is none.
[[nodiscard]] const Reason* find_reason(const std::vector<Reason>& reasons, std::string_view file,
                                        std::string_view line, std::string_view change);

}  // namespace mutants
