// <node>.log for every node: its output, byte for byte, both streams together, and a line where some was lost.
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
  /// Creates `directory` if necessary and an empty file for each of `names`; an empty `directory`: no files. A file
  /// that is there must be a regular one of this user, with one name: others may write to the directory. What a former
  /// run left is emptied, a file that a run still writes is not. Throws ConfigError, and empties nothing then.
  LogFiles(const std::filesystem::path& directory, const std::vector<std::string>& names);

  /// Appends to the file of `node`. Returns the first error, once; after it the file is not written any more.
  [[nodiscard]] std::string write(std::size_t node, std::string_view bytes);

  /// As write: a line of its own, whose end is not in `line`. A line that the node has not ended ends before.
  [[nodiscard]] std::string write_line(std::size_t node, std::string_view line);

 private:
  struct File {
    std::filesystem::path path;
    FileDescriptor descriptor;
    bool in_line = false;  ///< its last byte ends no line
  };
  std::vector<File> files_;
};

}  // namespace troupe::detail
