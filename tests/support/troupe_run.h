// One run of the program `troupe`, as a user starts it. Every wait has a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "node/file_descriptor.h"

namespace troupe::testing {

class TroupeRun {
 public:
  struct Result {
    int status = -1;                 ///< the exit status that a shell reports
    std::vector<std::string> lines;  ///< standard output and error together, in the order of writing
    [[nodiscard]] std::string last() const { return lines.empty() ? "" : lines.back(); }
  };

  /// Starts `troupe` with `arguments` in `directory`. The program must end within `limit`. Its processes inherit one
  /// descriptor of this process, see all_gone(). It runs as `user`, if that is not 0, without groups of root.
  TroupeRun(const std::filesystem::path& directory, std::vector<std::string> arguments,
            std::chrono::seconds limit = std::chrono::seconds(10), uid_t user = 0);

  /// Kills the program if it still runs.
  ~TroupeRun();
  TroupeRun(const TroupeRun&) = delete;
  TroupeRun& operator=(const TroupeRun&) = delete;

  /// Returns the first line that contains `text` and was not returned before; reads until there is one. Throws
  /// std::runtime_error with all output so far if the output ends or the limit passes first.
  std::string wait_for(const std::string& text);

  /// Reads for this long, or to the end of the output; returns the lines that came meanwhile.
  std::vector<std::string> lines_within(std::chrono::milliseconds time);

  void signal(int number) const;

  /// Closes the reading end: nothing reads the program's output from now on.
  void close_output() { output_.close(); }

  /// Reads to the end of the output and waits for the program to exit. Throws as wait_for.
  Result finish();

  /// Waits for the program to exit, and reads nothing. Returns its status. Throws as wait_for.
  int exit_status() { return wait_for_exit(); }

  /// Returns whether all processes that the program and its nodes started end within 10 s. They all hold the writing
  /// end of a pipe, whose end of file this call awaits.
  [[nodiscard]] bool all_gone();

 private:
  void read_more();
  void take_bytes();
  int wait_for_exit();

  pid_t pid_ = -1;
  detail::FileDescriptor output_;
  detail::FileDescriptor alive_;
  std::string unfinished_;
  std::vector<std::string> lines_;
  std::set<std::size_t> returned_;  ///< lines that wait_for has returned
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace troupe::testing
