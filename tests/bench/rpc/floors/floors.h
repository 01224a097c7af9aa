// The floors of rows: what this machine needs for the same without tensors, messages and a runtime.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace troupe::bench {

struct Floor {
  std::string name;   ///< that of its row; a row's further floors have a word more: "fresh/64MB/fresh_pages"
  std::string row;    ///< "fresh/64MB"
  std::size_t count;  ///< rounds that measure it well
  std::function<std::vector<double>(std::size_t count)> times;  ///< microseconds of each round
};

/// Floors of the rows of rpc_rows(), those of one row one after the other.
[[nodiscard]] std::vector<Floor> rpc_floors();

}  // namespace troupe::bench
