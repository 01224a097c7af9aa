// A cluster file, what it says and which errors it has.
#pragma once

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/config/config.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {

/// The smallest file: a role with a command.
constexpr std::string_view kMinimalFile = R"([[role]]
name = "ps"
command = ["./ps"]
)";

struct ConfigFiles : TemporaryDirectory {
  std::string write(std::string_view text) {
    const auto path = this->path() / "cluster.toml";
    std::ofstream(path) << text;
    return path;
  }

  ClusterConfig load(std::string_view text, const Variables& variables = {}, std::vector<std::string> sets = {}) {
    return load_config(write(text), variables, sets);
  }

  /// Returns the error lines for `text`, without the directory of the file.
  std::vector<std::string> errors(std::string_view text, const Variables& variables = {},
                                  std::vector<std::string> sets = {}) {
    return errors_of(write(text), variables, sets);
  }

  std::vector<std::string> errors_of(const std::string& file, const Variables& variables = {},
                                     const std::vector<std::string>& sets = {}) {
    try {
      (void)load_config(file, variables, sets);
    } catch (const ConfigError& error) {
      std::vector<std::string> lines = error.lines();
      const std::string directory = path().string() + "/";
      for (std::string& line : lines) {
        for (auto at = line.find(directory); at != std::string::npos; at = line.find(directory)) {
          line.erase(at, directory.size());
        }
      }
      return lines;
    }
    return {};
  }
};

inline void check_lines(const std::vector<std::string>& found, const std::vector<std::string>& wanted) {
  BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), wanted.begin(), wanted.end());
}

}  // namespace troupe::testing
