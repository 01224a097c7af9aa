// The working directory of the process, for a while.
#pragma once

#include <filesystem>

namespace troupe::testing {

/// REQUIRES: no other thread uses relative paths.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::filesystem::path& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~WorkingDirectory() { std::filesystem::current_path(before_); }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  const std::filesystem::path before_;
};

}  // namespace troupe::testing
