// Messages that no correct node would send: of every kind, with ids that mean something to the receiver.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "messages/all.h"
#include "messages/codec.h"
#include "messages/device_map.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "messages/values.h"
#include "tensor/create.h"

namespace troupe::testing {

/// Random numbers from a seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  /// Returns a number of 0 to `count` - 1. REQUIRES: count > 0.
  [[nodiscard]] std::size_t below(std::size_t count) { return random_() % count; }
  [[nodiscard]] bool chance(std::size_t percent) { return below(100) < percent; }
  template <class T>
  [[nodiscard]] const T& one_of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  std::mt19937_64 random_;
};

template <class T>
concept SomeId = requires(const T& id) {
  id.creator;
  id.incarnation;
  id.serial;
};

/// The ids that were seen in messages lately, by type.
class SeenIds {
 public:
  template <SomeId Id>
  void see(const Id& id) {
    constexpr std::size_t kMax = 12;
    auto& all = std::get<std::vector<Id>>(ids_);
    std::erase(all, id);
    if (all.size() == kMax) all.erase(all.begin());
    all.push_back(id);
  }
  template <SomeId Id>
  [[nodiscard]] const std::vector<Id>& of() const {
    return std::get<std::vector<Id>>(ids_);
  }

 private:
  std::tuple<std::vector<RRefId>, std::vector<ContextId>, std::vector<OptimizerId>, std::vector<ForkId>,
             std::vector<BoundaryId>, std::vector<PassId>, std::vector<StepId>, std::vector<BarrierEntryId>>
      ids_;
};

/// What walks over the fields of a message.
template <class Self>
class Walk {
 public:
  template <class... Fields>
  void operator()(Fields&... fields) {
    (field(fields), ...);
  }

 protected:
  template <class T>
  void field(T& value) {
    if constexpr (std::is_same_v<T, msg::Payload>) {
      self().leaf(value.bytes);
      field(value.refs);
      field(value.boundary);
    } else if constexpr (requires { self().leaf(value); }) {
      self().leaf(value);
    } else if constexpr (requires { value.serialize(self()); }) {
      value.serialize(self());
    } else {
      walk(value);
    }
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }

  template <class T>
  void walk(std::vector<T>& values) {
    self().resize(values);
    for (T& value : values) field(value);
  }
  template <class T>
  void walk(std::optional<T>& value) {
    self().toggle(value);
    if (value) field(*value);
  }
  template <class A, class B>
  void walk(std::pair<A, B>& pair) {
    field(pair.first);
    field(pair.second);
  }
};

/// Remembers the ids in a message.
class Collect final : public Walk<Collect> {
 public:
  explicit Collect(SeenIds& seen) : seen_(seen) {}

  template <SomeId Id>
  void leaf(Id& id) {
    seen_.see(id);
  }
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void leaf(T&) {}
  void leaf(std::string&) {}
  void leaf(std::vector<std::byte>&) {}
  void leaf(std::array<std::byte, 32>&) {}
  void leaf(std::chrono::microseconds&) {}
  void leaf(Error&) {}
  void leaf(Frame&) {}
  void leaf(Tensor&) {}
  void leaf(DeviceMap&) {}
  template <class T>
  void resize(std::vector<T>&) {}
  template <class T>
  void toggle(std::optional<T>&) {}

 private:
  SeenIds& seen_;
};

/// Changes fields at random, to values that mean something.
class Mutate final : public Walk<Mutate> {
 public:
  /// `lives`: of all nodes there are, the sender's first. `percent`: of fields that are changed.
  Mutate(Dice& dice, const SeenIds& seen, const std::vector<NodeLife>& lives, std::size_t percent)
      : dice_(dice), seen_(seen), lives_(lives), percent_(percent) {}

  template <SomeId Id>
  void leaf(Id& id) {
    if (!changes()) return;
    const std::vector<Id>& seen = seen_.template of<Id>();
    std::vector<Id> own;  // what is the sender's to speak of
    for (const Id& each : seen) {
      if (each.creator == lives_.front().name && each.incarnation == lives_.front().incarnation.low)
        own.push_back(each);
    }
    const std::size_t which = dice_.below(100);
    if (which < 50 && !own.empty()) {
      id = dice_.one_of(own);
    } else if (which < 70 && !seen.empty()) {
      id = dice_.one_of(seen);
    } else {
      const NodeLife& life = dice_.chance(80) ? lives_.front() : dice_.one_of(lives_);
      id = {life.name, life.incarnation.low, 1 + dice_.below(3)};
    }
  }
  void leaf(msg::RRefHandout& handout) {
    handout.serialize(*this);
    if (!dice_.chance(90)) return;  // refused at the door, in most cases
    handout.fork.creator = handout.parent = lives_.front().name;
    handout.fork.incarnation = lives_.front().incarnation.low;
  }
  void leaf(Incarnation& incarnation) {
    if (changes()) incarnation = dice_.one_of(lives_).incarnation;
  }
  void leaf(std::string& text) {
    if (changes()) text = dice_.chance(10) ? std::string() : dice_.one_of(lives_).name;
  }
  template <class T>
    requires std::is_integral_v<T>
  void leaf(T& number) {
    if (changes()) number = static_cast<T>(dice_.chance(10) ? ~std::uint64_t{0} : dice_.below(4));
  }
  void leaf(double& number) {
    if (changes()) number = static_cast<double>(dice_.below(3));
  }
  void leaf(bool& yes) {
    if (changes()) yes = dice_.chance(50);
  }
  // Others end the session: that a codec refuses them is another test's.
  void leaf(msg::Wanted& wanted) { choose(wanted, 1, 4); }
  void leaf(msg::Sharing& sharing) { choose(sharing, 1, 2); }
  void leaf(msg::Priority& priority) { choose(priority, 1, 3); }
  void leaf(msg::StepState& state) { choose(state, 0, 3); }
  void leaf(Error& error) {
    if (changes()) error.code = static_cast<ErrorCode>(1 + dice_.below(31));
  }
  void leaf(Tensor& tensor) {
    if (!changes()) return;
    tensor = dice_.chance(30) ? Tensor() : full({static_cast<std::int64_t>(1 + dice_.below(3))}, 0.5);
  }
  void leaf(std::chrono::microseconds& time) {
    if (changes()) time = std::chrono::seconds(dice_.below(100));
  }
  void leaf(std::vector<std::byte>& bytes) {
    if (changes()) bytes.resize(dice_.below(40));
  }
  void leaf(std::array<std::byte, 32>&) {}
  void leaf(Frame&) {}
  void leaf(DeviceMap&) {}

  template <class T>
  void resize(std::vector<T>& values) {
    if (!changes()) return;
    const T first = values.empty() ? T{} : values.front();
    values.resize(dice_.below(4), first);
  }
  template <class T>
  void toggle(std::optional<T>& value) {
    if (changes()) value = value ? std::nullopt : std::optional(T{});
  }

 private:
  [[nodiscard]] bool changes() { return dice_.chance(percent_); }
  template <class Enum>
  void choose(Enum& value, std::size_t first, std::size_t last) {
    if (changes()) value = static_cast<Enum>(first + dice_.below(last - first + 1));
  }

  Dice& dice_;
  const SeenIds& seen_;
  const std::vector<NodeLife>& lives_;
  const std::size_t percent_;
};

}  // namespace troupe::testing
