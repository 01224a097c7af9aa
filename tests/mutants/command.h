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
  std::filesystem::path folder;                                    ///< working directory
  std::filesystem::path output;                                    ///< file for its output, overwritten
  std::vector<std::pair<std::string, std::string>> environment{};  ///< added to the environment of this process
  std::optional<std::chrono::milliseconds> limit{};                ///< after this time, it and its children are killed
};

struct Ended {
  int status = 0;  ///< exit status
  int signal = 0;  ///< signal that ended it; 0: none
  bool timed_out = false;
  std::chrono::milliseconds took{};

  [[nodiscard]] bool succeeded() const { return status == 0 && signal == 0 && !timed_out; }
};

/// Runs the command to its end. Its children die with this process. Throws std::system_error if no process can start.
Ended run(const Command& command);

/// Returns the text of the file; empty if it does not exist.
[[nodiscard]] std::string contents_of(const std::filesystem::path& file);

/// Writes the file and creates its folders. Does nothing if the file already has this text.
void write_to(const std::filesystem::path& file, const std::string& text);

}  // namespace mutants
