// The name of a file as a parameter, so that headers of functions that take one do without <filesystem>.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// The path of a file, made from text or from a std::filesystem::path. Every constructor throws FileError
/// `[file] a NUL byte in a path: "a\x00.npy"`: the system would take what is before it for the path.
class FilePath {
 public:
  FilePath(const char* path) : text_(path) {}
  FilePath(std::string_view path) : FilePath(std::string(path)) {}
  FilePath(std::string path) : text_(std::move(path)) { check(); }
  template <class Path>
    requires requires(const Path& path) {
      { path.native() } -> std::same_as<const std::string&>;
    }
  FilePath(const Path& path) : FilePath(path.native()) {}

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void check() const;

  std::string text_;
};

}  // namespace troupe
