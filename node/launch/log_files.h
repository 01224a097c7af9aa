// <node>.log for every node: its output, byte for byte, both streams together, and a line where some was lost.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "node/file_descriptor.h"
#include "node/launch/log_backlog.h"

namespace troupe::detail {

/// What a file does not take, as on a full disk, is lost, and counted. Each later write tries again; once there is room
/// a line says how much was lost there, and the output goes on at the begin of a line, or after a carriage
/// return.
class LogFiles {
 public:
  /// Creates `directory` if necessary and an empty file for each of `names`; an empty `directory`: no files. A file
  /// that is there must be a regular one of this user, with one name: others may write to the directory. What a former
  /// run left is emptied, a file that a run still writes is not. Throws ConfigError, and empties nothing then.
  LogFiles(const std::filesystem::path& directory, const std::vector<std::string>& names);

  /// Says what was lost last, where there is room.
  ~LogFiles();
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  /// Appends to the file of `node`. Returns the error with which a loss begins.
  [[nodiscard]] std::string write(std::size_t node, std::string_view bytes);

  /// As write: a line of its own, whose end is not in `line`. A line that the node has not ended ends before.
  [[nodiscard]] std::string write_line(std::size_t node, std::string_view line);

 private:
  struct File {
    std::filesystem::path path;
    FileDescriptor descriptor;
    bool in_line = false;       ///< its last byte ends no line
    LogLoss lost = {};          ///< since the last line that says so
    bool lost_in_line = false;  ///< the rest of the node's line is lost, too
    std::string why = {};       ///< it was lost
    std::string gap = {};       ///< the rest of a line that says what was lost, and did not fit
  };

  [[nodiscard]] static std::string append(File& file, std::string_view bytes);
  static void lose(File& file, std::string_view bytes);
  [[nodiscard]] static std::size_t put(File& file, std::string_view bytes);
  [[nodiscard]] static bool tell_loss(File& file);

  std::vector<File> files_;
};

}  // namespace troupe::detail
