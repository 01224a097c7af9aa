// Selects the mutant of this process. Only mutated copies of sources call it; no build of Troupe contains it.
#pragma once

namespace mutants {

/// Returns whether the process is mutant `number`. The environment variable TROUPE_MUTANT, read at the first call,
/// names it. Records that the place was reached. Thread-safe.
[[nodiscard]] bool is_on(int number) noexcept;

}  // namespace mutants
