// The rows of the counting benchmark: what is counted, and how often the operation runs for it.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/bench/counts/workload.h"

namespace troupe::bench {

enum class Counter : std::uint8_t {
  wakeups,             ///< voluntary context switches
  syscalls,            ///< by ptrace
  syscalls_in_flight,  ///< by perf: ptrace delays the calls, so that more of them share a system call
  instructions,        ///< of user code, by callgrind
  mallocs,             ///< by the interposer
  messages,            ///< sent between nodes
  bytes_copied,        ///< by the interposer
  page_faults,         ///< of all processes
  syscalls_per_second  ///< of the first node alone
};

struct CountedRow {
  std::string name;  ///< "count/mallocs/none"
  Counter counter;
  Workload work;
  std::uint64_t operations;  ///< of one sample; twice as many follow
  double divisor = 1;        ///< of the count: bytes copied are printed as a multiple of the payload
};

[[nodiscard]] std::vector<CountedRow> counted_rows();

/// Returns the unit in which the counter is printed.
[[nodiscard]] std::string unit_of(Counter counter);

/// This host lacks what a row needs; the text says what.
class CannotCount : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The amount of counting.
struct Sampling {
  int groups = 5;   ///< fresh processes
  int samples = 3;  ///< of each group
};

/// Returns the counts of one operation, summed over the processes of all nodes. A sample is the difference of 2N and N
/// operations, divided by N, so that what is counted once cancels out. Throws CannotCount.
[[nodiscard]] std::vector<double> samples_of(const CountedRow& row, const Sampling& sampling);

}  // namespace troupe::bench
