#include "actors/pipeline/connections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>

namespace troupe::detail {
namespace {

using Types = std::span<const std::string>;

struct Stash {
  SkipSource source;
  std::string type;
  bool popped = false;
};
using Stashes = std::map<std::string, Stash>;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw std::invalid_argument("[Pipeline] " + fmt::format(text, std::forward<Args>(args)...));
}

std::string text_of(Types types) { return fmt::format("({})", fmt::join(types, ", ")); }

/// Returns the types that a stage exchanges with its neighbours: all but the last `apart`.
Types main_part(const std::vector<std::string>& types, std::size_t apart, std::size_t stage, const char* what) {
  if (types.size() <= apart) {
    refuse("stage {} has {} {}, and {} of them by name: none is left for its neighbour", stage, types.size(), what,
           apart);
  }
  return Types(types).first(types.size() - apart);
}

void require_equal(Types given, const std::string& giver, Types taken, const std::string& taker) {
  if (!std::ranges::equal(given, taken)) {
    refuse("{} gives {}, {} takes {}", giver, text_of(given), taker, text_of(taken));
  }
}

std::string name_of(const std::vector<StageShape>& stages, std::size_t stage) {
  return fmt::format("stage {} on {}", stage, stages[stage].node);
}

std::vector<SkipSource> pop(const StageShape& shape, std::size_t stage, Stashes& stashes) {
  std::vector<SkipSource> sources;
  const std::size_t first = shape.parameters.size() - shape.pop.size();
  for (std::size_t k = 0; k < shape.pop.size(); ++k) {
    const std::string& name = shape.pop[k];
    const auto at = stashes.find(name);
    if (at == stashes.end()) refuse("stage {} pops \"{}\", which no earlier stage stashes", stage, name);
    if (at->second.popped) refuse("stage {} pops \"{}\", which was popped before", stage, name);
    if (at->second.type != shape.parameters[first + k]) {
      refuse("stage {} pops \"{}\" as {}, stage {} stashes {}", stage, name, shape.parameters[first + k],
             at->second.source.stage, at->second.type);
    }
    at->second.popped = true;
    sources.push_back(at->second.source);
  }
  return sources;
}

void stash(const StageShape& shape, std::size_t stage, Stashes& stashes) {
  const std::size_t first = shape.results.size() - shape.stash.size();
  for (std::size_t k = 0; k < shape.stash.size(); ++k) {
    const auto [at, is_new] =
        stashes.try_emplace(shape.stash[k], Stash{{stage, first + k}, shape.results[first + k], false});
    if (!is_new) {
      refuse("\"{}\" is stashed by stage {} and by stage {}", shape.stash[k], at->second.source.stage, stage);
    }
  }
}

}  // namespace

std::vector<std::vector<SkipSource>> connect(const std::vector<StageShape>& stages,
                                             const std::vector<std::string>& inputs,
                                             const std::vector<std::string>& outputs) {
  if (stages.empty()) refuse("there are no stages");
  Stashes stashes;
  std::vector<std::vector<SkipSource>> sources;
  Types given = inputs;
  std::string giver = "the pipeline";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageShape& shape = stages[i];
    require_equal(given, giver, main_part(shape.parameters, shape.pop.size(), i, "parameters"), name_of(stages, i));
    sources.push_back(pop(shape, i, stashes));
    given = main_part(shape.results, shape.stash.size(), i, "results");
    giver = name_of(stages, i);
    stash(shape, i, stashes);
  }
  require_equal(given, giver, outputs, "the pipeline");
  for (const auto& [name, stashed] : stashes) {
    if (!stashed.popped) refuse("\"{}\", stashed by stage {}, is popped by no stage", name, stashed.source.stage);
  }
  return sources;
}

}  // namespace troupe::detail
