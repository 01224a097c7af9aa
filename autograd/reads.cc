#include "autograd/reads.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace troupe::detail {
namespace {

/// Returns what was recorded of a variable; null if nothing.
const Reads::OfVariable* find_variable(const Reads& reads, const void* identity) {
  const auto found = reads.by_identity.find(identity);
  return found == reads.by_identity.end() ? nullptr : &reads.variables[found->second];
}

auto find_generator(const Reads& reads, const Generator& generator) {
  return std::find_if(reads.generators.begin(), reads.generators.end(),
                      [&](const Reads::OfGenerator& noted) { return noted.which == &generator; });
}

Tensor asked(Reader* outside, const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) {
  return outside == nullptr ? now : outside->value_of(identity, edge, std::move(now));
}

Edge asked(Reader* outside, const void* identity, Edge now) {
  return outside == nullptr ? now : outside->edge_of(identity, std::move(now));
}

Generator& asked(Reader* outside, Generator& generator) {
  return outside == nullptr ? generator : outside->generator_for(generator);
}

}  // namespace

std::vector<Edge> Reads::edges() const {
  std::vector<Edge> edges;
  std::set<std::pair<const GradFn*, std::uint32_t>> seen;
  for (const OfVariable& variable : variables) {
    const bool is_new = seen.emplace(variable.edge.fn.get(), variable.edge.slot).second;
    edges.push_back(is_new ? variable.edge : Edge{});
  }
  return edges;
}

void Reads::drop_gone() {
  std::erase_if(constants, [](const auto& constant) { return constant.second.expired(); });
}

NotingReader::NotingReader(Reads& reads, std::vector<Variable> inputs)
    : outside_(reader_here()), reads_(reads), inputs_(std::move(inputs)) {
  for (const Variable& input : inputs_) kept_.push_back(input.value().storage());
}

Tensor NotingReader::value_of(const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) {
  if (!edge && outside_ == nullptr) {  // most reads
    note_constant(identity);
    return now;
  }
  if (const auto* const known = find_variable(reads_, identity.get())) return known->value.get();
  Tensor value = asked(outside_, identity, edge, std::move(now));
  Edge seen = asked(outside_, identity.get(), edge);
  if (seen) {
    reads_.by_identity.emplace(identity.get(), reads_.variables.size());
    reads_.variables.push_back({identity, std::move(seen), Saved(value)});
    kept_.push_back(value.storage());
  } else {
    note_constant(identity);
  }
  return value;
}

bool NotingReader::is_input(const void* identity) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Variable& input) { return input.id() == identity; }) ||
         (outside_ != nullptr && outside_->is_input(identity));
}

bool NotingReader::keeps(const Tensor& value) const {
  const auto shares = [&](const Storage& kept) { return kept.same_as(value.storage()); };
  return std::any_of(kept_.begin(), kept_.end(), shares) || (outside_ != nullptr && outside_->keeps(value));
}

Edge NotingReader::edge_of(const void* identity, Edge now) {
  const auto* const known = find_variable(reads_, identity);
  return known != nullptr ? known->edge : asked(outside_, identity, std::move(now));
}

void NotingReader::note_constant(const std::shared_ptr<const void>& identity) {
  constexpr std::size_t kTogether = 256;
  unsorted_.emplace_back(identity);
  if (unsorted_.size() == kTogether) finish();
}

/// Most constants are results inside the function, which are gone by now.
void NotingReader::finish() {
  for (const std::weak_ptr<const void>& constant : unsorted_) {
    if (const auto alive = constant.lock()) reads_.constants.try_emplace(alive.get(), constant);
  }
  unsorted_.clear();
  if (reads_.constants.size() <= constants_max_) return;
  reads_.drop_gone();
  constants_max_ = 2 * reads_.constants.size() + 64;
}

Generator& NotingReader::generator_for(Generator& generator) {
  Generator& source = asked(outside_, generator);
  if (find_generator(reads_, generator) == reads_.generators.end()) reads_.generators.push_back({&generator, source});
  return source;
}

ReplayingReader::ReplayingReader(const Reads& reads) : outside_(reader_here()), reads_(reads) {
  for (const Reads::OfGenerator& noted : reads.generators) generators_.push_back(noted.before);
}

Tensor ReplayingReader::value_of(const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) {
  if (const auto* const known = find_variable(reads_, identity.get())) return known->value.get();
  return asked(outside_, identity, edge, std::move(now));
}

Edge ReplayingReader::edge_of(const void* identity, Edge now) {
  if (const auto* const known = find_variable(reads_, identity)) return known->edge;
  if (reads_.constants.contains(identity)) return {nullptr, 0, now.elements};
  return asked(outside_, identity, std::move(now));
}

Generator& ReplayingReader::generator_for(Generator& generator) {
  auto found = find_generator(reads_, generator);
  if (found == reads_.generators.end()) return asked(outside_, generator);
  return generators_[static_cast<std::size_t>(found - reads_.generators.begin())];
}

}  // namespace troupe::detail
