#include "samples/command_line.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

namespace samples {
namespace {

template <class Value>
struct NumberOf {
  using Type = Value;
};
template <class Value>
struct NumberOf<std::vector<Value>> {
  using Type = Value;
};
template <class Value>
struct NumberOf<std::optional<Value>> {
  using Type = Value;
};

/// As CLI::PositiveNumber, which takes NaN and infinity, too.
CLI::Validator is_positive() {
  const auto check = [](const std::string& text) {
    double value = 0;
    const bool fits = CLI::detail::lexical_cast(text, value) && value > 0 && std::isfinite(value);
    return fits ? std::string() : "not a positive number: " + text;
  };
  return {check, "POSITIVE"};
}

}  // namespace

struct CommandLine::Parser {
  explicit Parser(const std::string& about) : app(about) {}

  template <class Value>
  CLI::Option& add(const std::string& name, Value& value, const std::string& help) {
    CLI::Option& option = *app.add_option(name, value, help);
    if constexpr (requires { value.push_back({}); } && !std::same_as<Value, std::string>) option.delimiter(',');
    if constexpr (!std::same_as<Value, std::optional<int>>) option.capture_default_str();
    return option;
  }

  CLI::App app;
};

CommandLine::CommandLine(const std::string& about) : parser_(std::make_unique<Parser>(about)) {}
CommandLine::~CommandLine() = default;

template <class Value>
void CommandLine::add(const std::string& name, Value& value, const std::string& help) {
  parser_->add(name, value, help);
}

template <class Value>
void CommandLine::add(const std::string& name, Value& value, const std::string& help, Between bounds) {
  using Number = typename NumberOf<Value>::Type;
  const CLI::Range range(static_cast<Number>(bounds.least), static_cast<Number>(bounds.most));
  parser_->add(name, value, help).check(range);
}

template <class Value>
void CommandLine::add_positive(const std::string& name, Value& value, const std::string& help) {
  parser_->add(name, value, help).check(is_positive());
}

void CommandLine::add_flag(const std::string& name, bool& value, const std::string& help) {
  parser_->app.add_flag(name, value, help);
}

void CommandLine::needs(const std::string& name, const std::string& other) {
  parser_->app.get_option(name)->needs(parser_->app.get_option(other));
}

void CommandLine::excludes(const std::string& name, const std::string& other) {
  parser_->app.get_option(name)->excludes(parser_->app.get_option(other));
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    parser_->app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& end) {
    return parser_->app.exit(end) == 0 ? 0 : 2;  // CLI11 has a status of its own for each mistake
  }
}

template void CommandLine::add(const std::string&, std::int64_t&, const std::string&);
template void CommandLine::add(const std::string&, std::uint64_t&, const std::string&);
template void CommandLine::add(const std::string&, std::string&, const std::string&);
template void CommandLine::add(const std::string&, std::vector<std::int64_t>&, const std::string&);
template void CommandLine::add(const std::string&, int&, const std::string&, Between);
template void CommandLine::add(const std::string&, std::int64_t&, const std::string&, Between);
template void CommandLine::add(const std::string&, std::uint64_t&, const std::string&, Between);
template void CommandLine::add(const std::string&, std::optional<int>&, const std::string&, Between);
template void CommandLine::add(const std::string&, std::vector<std::uint64_t>&, const std::string&, Between);
template void CommandLine::add_positive(const std::string&, double&, const std::string&);
template void CommandLine::add_positive(const std::string&, std::vector<double>&, const std::string&);

}  // namespace samples
