// Builds the test programs of all chosen mutants at once: copies of the sources with every point as a switch, compiled
// and linked as in the dev build, beside it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/mutants/mutated.h"
#include "tests/mutants/points.h"
#include "tests/mutants/source.h"

namespace mutants {

struct Folders {
  std::filesystem::path tree;      ///< the sources; read only
  std::filesystem::path build;     ///< made by CMake with Ninja, up to date
  std::filesystem::path work;      ///< for all files made here
  std::filesystem::path selector;  ///< the object file of selector.cc
};

/// A point of one of the sources. Its number counts over all sources, from 1.
struct Mutant {
  std::size_t source = 0;
  Point point;
  int number = 0;
};

/// A test program: its name, and its path in the build folder.
struct Suite {
  std::string name;
  std::filesystem::path program;
};

class Workshop {
 public:
  /// `files` are paths from the root of the tree.
  Workshop(Folders folders, const std::vector<std::string>& files, std::size_t jobs);
  ~Workshop();
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  [[nodiscard]] const Source& source(std::size_t i) const { return *sources_[i]; }

  /// Returns the mutants of all sources.
  [[nodiscard]] const std::vector<Mutant>& mutants() const { return mutants_; }

  /// Compiles the sources with those mutants in them. Returns the numbers of the mutants at fault if compilation fails;
  /// empty on success. REQUIRES: two ranges are disjoint, or one contains the other. Throws std::runtime_error if
  /// compilation fails and no mutant is at fault.
  [[nodiscard]] std::set<int> compile(const std::set<int>& chosen);

  /// Links the suite's program with the last compiled sources. Returns its path. Throws std::runtime_error if that
  /// fails.
  [[nodiscard]] std::filesystem::path link(const Suite& suite);

 private:
  struct Unit;

  [[nodiscard]] std::string ask_ninja(const std::string& question) const;
  void find_units();
  void add_unit(const std::string& object);
  [[nodiscard]] std::set<int> make_units(bool copies);
  [[nodiscard]] std::set<int> errors_of(const Unit& unit) const;

  const Folders folders_;
  const std::size_t jobs_;
  std::vector<std::unique_ptr<const Source>> sources_;
  std::vector<Mutant> mutants_;
  std::map<std::string, Mutated> copies_;               // by path of the source
  std::map<std::string, std::unique_ptr<Unit>> units_;  // by object file in the build folder
};

}  // namespace mutants
