// The name of a file as a parameter, so that headers of functions that take one do without <filesystem>.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// The path of a file, made from text or from a std::filesystem::path.
class FilePath {
 public:
  FilePath(const char* path) : text_(path) {}
  FilePath(std::string_view path) : text_(path) {}
  FilePath(std::string path) : text_(std::move(path)) {}
  template <class Path>
    requires requires(const Path& path) {
      { path.native() } -> std::same_as<const std::string&>;
    }
  FilePath(const Path& path) : text_(path.native()) {}

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace troupe
