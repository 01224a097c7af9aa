// What the tests of `troupe up` with real processes share: a directory with a cluster file, roles that are shell
// scripts, and looks at the lines that a run prints.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {

/// Returns a role whose processes run `script` in a shell; `more` are further lines of the role.
inline std::string role(const std::string& name, const std::string& script, const std::string& more = "") {
  return "[[role]]\nname = \"" + name + "\"\ncommand = [\"sh\", \"-c\", '''" + script + "''']\n" + more + "\n";
}

// Prints that it is ready, and prints a word when it is asked to end.
inline const std::string kPolite = "trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait";
// It and its children end only at SIGKILL.
inline const std::string kStubborn = "trap '' TERM; echo ready; while :; do sleep 1000; done";

/// The working directory of a run.
struct RunDirectory : TemporaryDirectory {
  TroupeRun up(const std::string& text, std::vector<std::string> more = {}) {
    std::ofstream(path() / "cluster.toml") << text;
    std::vector<std::string> arguments{"up", "cluster.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return TroupeRun(path(), arguments);
  }
  std::string read(const std::string& name) {
    std::ifstream file(path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Returns whether a file is there within 8 s.
  bool appears(const std::string& name) const {
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    while (!std::filesystem::exists(path() / name)) {
      if (std::chrono::steady_clock::now() >= due) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

/// Returns the lines that contain `text`, in order.
inline std::vector<std::string> with(const std::vector<std::string>& lines, const std::string& text) {
  std::vector<std::string> result;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(result),
               [&](const std::string& line) { return line.find(text) != std::string::npos; });
  return result;
}

inline void expect_lines(const std::vector<std::string>& found, const std::vector<std::string>& wanted) {
  BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), wanted.begin(), wanted.end());
}

/// Returns what follows `word` in `line`.
inline std::string after(const std::string& line, const std::string& word) {
  return line.substr(line.find(word) + word.size());
}

}  // namespace troupe::testing
