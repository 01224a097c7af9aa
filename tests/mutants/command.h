// Runs other programs: compilers, linkers, tests.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mutants {

struct Command {
  std::vector<std::string> words;
  std::filesystem::path folder;                                    ///< where it runs
  std::filesystem::path output;                                    ///< what it says, replaced
  std::vector<std::pair<std::string, std::string>> environment{};  ///< besides that of this process
  std::optional<std::chrono::milliseconds> limit{};                ///< it and its children are killed then
};

struct Ended {
  int status = 0;  ///< of exit
  int signal = 0;  ///< that ended it; 0: none
  bool timed_out = false;
  std::chrono::milliseconds took{};

  [[nodiscard]] bool succeeded() const { return status == 0 && signal == 0 && !timed_out; }
};

/// Runs it to its end. Children die with this process. Throws std::system_error if no process can be made.
Ended run(const Command& command);

/// What the file says; empty if there is none.
[[nodiscard]] std::string contents_of(const std::filesystem::path& file);

/// Writes the file with the folders it is in. Does nothing if it says so already.
void write_to(const std::filesystem::path& file, const std::string& text);

}  // namespace mutants
