// Which mutant this process is. Only copies of sources that `mutants` made ask; no build of Troupe has this.
#pragma once

namespace mutants {

/// Whether the process is the mutant of that number: the one that the environment variable TROUPE_MUTANT names when it
/// is first asked. Any thread may call it. Notes that the place was reached.
[[nodiscard]] bool is_on(int number) noexcept;

}  // namespace mutants
