// <node>.log for every node: what it printed, byte for byte, both streams together.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "node/file_descriptor.h"

namespace troupe::detail {

class LogFiles {
 public:
  /// Makes `directory` if need be and an empty file for each of `names`; an empty `directory` means no files.
  /// Throws ConfigError.
  LogFiles(const std::filesystem::path& directory, const std::vector<std::string>& names);

  /// Appends to the file of `node`. Returns what went wrong, once: after that the file is left alone.
  [[nodiscard]] std::string write(std::size_t node, std::string_view bytes);

 private:
  struct File {
    std::filesystem::path path;
    FileDescriptor descriptor;
  };
  std::vector<File> files_;
};

}  // namespace troupe::detail
