#include "tests/mutants/workshop.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/mutants/command.h"

namespace mutants {
namespace fs = std::filesystem;

/// One invocation of the compiler.
struct Workshop::Unit {
  std::string object;          // relative to the build folder
  std::string command;         // without source and object
  fs::path source;             // the original, or the copy
  std::set<std::string> uses;  // the copies that it includes
  bool is_copy = false;        // compiles a copy, and does not only include one
  bool is_made = false;
  fs::path made;    // the object file
  fs::path output;  // the compiler's output
};

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Returns the command without source, object and warnings, with the copies' folder before all other folders.
std::string compiler_of(std::string command, const fs::path& copies) {
  const std::size_t rest = command.find(" -MD ");
  if (rest == std::string::npos) throw std::runtime_error("not a compiler's command: " + command);
  command.resize(rest);
  for (std::size_t at = 0; (at = command.find(" -W", at)) != std::string::npos;)
    command.erase(at, command.find(' ', at + 1) - at);
  command.insert(command.find(" -"), " -I" + copies.string());
  return command + " -Werror=return-type -O0 -g0 -fmax-errors=0 -fno-diagnostics-show-caret -fdiagnostics-color=never";
}

/// Returns the number between the first two colons after `path`, if the line begins with it.
std::optional<int> line_number(std::string_view line, std::string_view path) {
  const std::size_t at = line.find(path);
  if (at == std::string_view::npos || at + path.size() >= line.size() || line[at + path.size()] != ':')
    return std::nullopt;
  const int number = std::atoi(std::string(line.substr(at + path.size() + 1)).c_str());
  return number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

Workshop::Workshop(Folders folders, const std::vector<std::string>& files, std::size_t jobs)
    : folders_(std::move(folders)), jobs_(jobs) {
  fs::create_directories(folders_.work);
  for (const std::string& file : files) {
    sources_.push_back(std::make_unique<const Source>(file, contents_of(folders_.tree / file)));
    for (const Point& point : points_of(*sources_.back())) {
      mutants_.push_back({sources_.size() - 1, point, static_cast<int>(mutants_.size()) + 1});
    }
  }
  find_units();
}

Workshop::~Workshop() = default;

std::string Workshop::ask_ninja(const std::string& question) const {
  const fs::path output = folders_.work / "ninja";
  const Ended ended = run({{"sh", "-c", "ninja -t " + question}, folders_.build, output});
  if (!ended.succeeded()) throw std::runtime_error("ninja -t " + question + " failed:\n" + contents_of(output));
  return contents_of(output);
}

/// Finds the objects of the sources, and of all files that include one of them.
void Workshop::find_units() {
  std::string object;
  std::set<std::string> headers;
  std::set<std::string> objects;
  for (const auto& source : sources_) {
    if (source->path().ends_with(".h")) headers.insert((folders_.tree / source->path()).string());
  }
  for (const std::string& line : lines_of(ask_ninja("deps"))) {
    if (!line.empty() && line.front() != ' ') {
      object = line.substr(0, line.find(": #deps"));
      continue;
    }
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    const fs::path path = (folders_.build / line.substr(begin)).lexically_normal();
    const bool is_changed = headers.contains(path.string()) || std::ranges::any_of(sources_, [&](const auto& source) {
                              return folders_.tree / source->path() == path;
                            });
    if (is_changed && objects.insert(object).second) add_unit(object);
  }
  if (units_.empty()) throw std::runtime_error("no object of " + folders_.build.string() + " is made of the sources");
}

void Workshop::add_unit(const std::string& object) {
  const std::string command = ask_ninja("commands -s " + object);
  auto unit = std::make_unique<Unit>();
  unit->object = object;
  unit->command = compiler_of(command, folders_.work / "tree");
  const std::size_t at = command.find(" -c ") + 4;
  unit->source = command.substr(at, command.find_first_of(" \n", at) - at);
  const std::string deps = ask_ninja("deps " + object);
  for (const auto& source : sources_) {
    const fs::path path = folders_.tree / source->path();
    if (deps.find(" " + path.string() + "\n") == std::string::npos) continue;
    unit->uses.insert(source->path());
    if (unit->source != path) continue;
    unit->source = folders_.work / "tree" / source->path();
    unit->is_copy = true;
  }
  std::string name = object;
  std::ranges::replace(name, '/', '_');
  unit->made = folders_.work / name;
  unit->output = folders_.work / (name + ".errors");
  units_.emplace(object, std::move(unit));
}

std::set<int> Workshop::compile(const std::set<int>& chosen) {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    std::vector<Switched> points;
    for (const Mutant& mutant : mutants_) {
      if (mutant.source == i && chosen.contains(mutant.number)) points.push_back({&mutant.point, mutant.number});
    }
    const std::string& path = sources_[i]->path();
    const fs::path file = folders_.work / "tree" / path;
    copies_.erase(path);
    const Mutated& copy = copies_.try_emplace(path, *sources_[i], std::move(points)).first->second;
    if (contents_of(file) == copy.text() && fs::exists(file)) continue;
    write_to(file, copy.text());
    for (const auto& [object, unit] : units_) unit->is_made &= !unit->uses.contains(path);
  }
  // Errors appear in the copies themselves: files that only include one wait until the copies compile.
  std::set<int> blamed = make_units(true);
  if (blamed.empty()) blamed = make_units(false);
  return blamed;
}

/// Compiles the units that are not up to date: copies, or the others.
std::set<int> Workshop::make_units(bool copies) {
  std::vector<Unit*> to_make;
  for (const auto& [object, unit] : units_) {
    if (!unit->is_made && unit->is_copy == copies) to_make.push_back(unit.get());
  }
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < std::min(jobs_, to_make.size()); ++i) {
      workers.emplace_back([&] {
        for (std::size_t at = next++; at < to_make.size(); at = next++) {
          Unit& unit = *to_make[at];
          const std::string command = unit.command + " -o " + unit.made.string() + " -c " + unit.source.string();
          unit.is_made = run({{"sh", "-c", command}, folders_.build, unit.output}).succeeded();
        }
      });
    }
  }
  std::set<int> blamed;
  for (const Unit* unit : to_make) {
    if (unit->is_made) continue;
    const std::set<int> errors = errors_of(*unit);
    if (errors.empty())
      throw std::runtime_error("does not compile, and no mutant is to blame: see " + unit->output.string());
    blamed.insert(errors.begin(), errors.end());
  }
  return blamed;
}

std::set<int> Workshop::errors_of(const Unit& unit) const {
  std::set<int> blamed;
  std::optional<int> near;  // the first error without a point
  std::optional<int> from;  // the last place in our sources that instantiated a template
  for (const std::string& line : lines_of(contents_of(unit.output))) {
    const bool is_end = line.find("[-Werror=return-type]") != std::string::npos;
    std::optional<int> here;
    for (const std::string& path : unit.uses) {
      const auto number = line_number(line, (folders_.work / "tree" / path).string());
      if (number) here = is_end ? copies_.at(path).to_blame_for_end(*number) : copies_.at(path).to_blame(*number);
      if (number && !here && !near &&
          (line.find(" error: ") != std::string::npos || line.find("required from") != std::string::npos))
        near = copies_.at(path).to_blame_after(*number);
    }
    if (line.find("required from") != std::string::npos && here) from = here;
    if (line.find(" error: ") == std::string::npos) continue;
    if (const auto to_blame = here ? here : from) blamed.insert(*to_blame);
    from.reset();
  }
  if (blamed.empty() && near) blamed.insert(*near);
  return blamed;
}

fs::path Workshop::link(const Suite& suite) {
  std::string command = ask_ninja("commands -s " + suite.program.string());
  fs::path program = folders_.work / suite.name;
  std::string objects = " " + folders_.selector.string();
  for (const auto& [object, unit] : units_) {
    if (const std::size_t at = command.find(" " + object + " "); at != std::string::npos) {
      command.replace(at + 1, object.size(), unit->made.string());
    } else if (!object.starts_with("tests/")) {
      objects += " " + unit->made.string();  // so that the linker does not take them from the libraries
    }
  }
  const std::string out = " -o " + suite.program.string();
  const std::size_t at = command.find(out + " ");
  if (at == std::string::npos) throw std::runtime_error("not a linker's command: " + command);
  // What is not mutated comes from the build's libraries; functions of the program come before those of shared ones.
  const std::string libraries = " -Wl,--copy-dt-needed-entries,-rpath," + (folders_.build / "lib").string();
  command.replace(at, out.size(), objects + libraries + " -o " + program.string());
  const fs::path output = folders_.work / (suite.name + ".errors");
  if (!run({{"sh", "-c", command}, folders_.build, output}).succeeded()) {
    throw std::runtime_error(suite.name + " does not link:\n" + contents_of(output));
  }
  return program;
}

}  // namespace mutants
