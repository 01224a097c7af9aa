#include "tests/chaos/process_use.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace troupe::testing {

ProcessUse process_use(pid_t process) {
  const std::filesystem::path place = fmt::format("/proc/{}", process);
  std::ifstream in(place / "status");
  if (!in) throw std::runtime_error(fmt::format("no process {}", process));
  std::map<std::string, std::size_t> numbers;
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t digit = line.find_first_of("0123456789", colon);
    if (digit != std::string::npos) numbers[line.substr(0, colon)] = std::stoull(line.substr(digit));
  }
  const auto descriptors =
      std::distance(std::filesystem::directory_iterator(place / "fd"), std::filesystem::directory_iterator());
  return {.virtual_bytes = numbers["VmSize"] << 10,
          .resident_bytes = numbers["VmRSS"] << 10,
          .resident_bytes_max = numbers["VmHWM"] << 10,
          .threads = numbers["Threads"],
          .descriptors = static_cast<std::size_t>(descriptors)};
}

}  // namespace troupe::testing
