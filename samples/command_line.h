// The options of a sample's program. CLI11 reads them in one source, so that no sample compiles it.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace samples {

/// What an option's value may be, ends included.
struct Between {
  long least;
  long most;
};

/// The options that a program takes, and its help. Values are read into the caller's variables, which hold the defaults
/// and must live as long. Not thread-safe.
class CommandLine {
 public:
  /// `about`: what the program does, the first line of its help.
  explicit CommandLine(const std::string& about);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// An option with a value, `--name value`. `Value`: int, std::int64_t, std::uint64_t, double, std::string, optional
  /// int, or a vector of numbers, which are separated by commas.
  template <class Value>
  void add(const std::string& name, Value& value, const std::string& help);
  /// As above, for integers: parse() refuses values that are not within `bounds`.
  template <class Value>
  void add(const std::string& name, Value& value, const std::string& help, Between bounds);
  /// As above, for floating-point numbers: parse() refuses those that are not above 0.
  template <class Value>
  void add_positive(const std::string& name, Value& value, const std::string& help);
  /// An option without a value: `value` becomes true where it is given.
  void add_flag(const std::string& name, bool& value, const std::string& help);

  /// parse() refuses `name` without `other`, or with it. REQUIRES: both were added.
  void needs(const std::string& name, const std::string& other);
  void excludes(const std::string& name, const std::string& other);

  /// Reads the arguments. A program that was asked for its help, or was given something else than its options, is done:
  /// the text is printed, and the result is the status that the program returns, 0 or 2.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

 private:
  struct Parser;  // holds CLI11's
  std::unique_ptr<Parser> parser_;
};

}  // namespace samples
