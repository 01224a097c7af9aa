#include "actors/data/prefetch.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "node/local_cluster.h"
#include "tensor/storage.h"

namespace troupe::testing {
namespace {

/// What a user's function throws, with an object of the user's.
struct Refusal {
  std::shared_ptr<int> held;
};

/// The pool's thread is held up after it has told that a value is made: when it lets the indices go.
struct OnAHeldPool {
  ~OnAHeldPool() {
    *released = true;
    released->notify_all();
  }

  [[nodiscard]] Tensor indices() const {
    static constexpr std::int64_t kIndex = 0;
    const std::shared_ptr<const void> keeper(&kIndex, [released = released](const void*) { released->wait(false); });
    const FrozenBytes bytes(keeper, std::as_bytes(std::span(&kIndex, 1)));
    return Tensor::from_storage(Storage::adopt(bytes), {1}, {1}, 0, DType::i64);
  }

  /// A function that holds an object of its own and makes one, or throws one.
  [[nodiscard]] detail::Prefetch::Make make(bool throws = false) {
    auto own = std::make_shared<int>(0);
    function = own;
    return [this, throws, own = std::move(own)](const Tensor&) -> std::shared_ptr<void> {
      auto object = std::make_shared<int>(1);
      made = object;
      begun = true;
      begun.notify_all();
      if (throws) throw Refusal{object};
      return object;
    };
  }

  LocalCluster cluster{{"trainer"}, {}};
  Node& trainer = cluster.node("trainer");
  std::shared_ptr<std::atomic<bool>> released = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> begun = false;
  std::weak_ptr<int> made;
  std::weak_ptr<int> function;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(prefetch, OnAHeldPool)

BOOST_AUTO_TEST_CASE(what_was_made_and_its_function_end_before_the_prefetch) {
  {
    detail::Prefetch prefetch(trainer, make());
    prefetch.ask(indices());
    begun.wait(false);
  }
  BOOST_TEST(made.expired());
  BOOST_TEST(function.expired());
}

BOOST_AUTO_TEST_CASE(what_is_dropped_ends_before_the_next_is_asked_for) {
  detail::Prefetch prefetch(trainer, make());
  prefetch.ask(indices());
  begun.wait(false);
  prefetch.drop();
  BOOST_TEST(made.expired());
  BOOST_TEST(!function.expired());
}

BOOST_AUTO_TEST_CASE(what_is_taken_belongs_to_the_caller_alone) {
  detail::Prefetch prefetch(trainer, make());
  prefetch.ask(indices());
  BOOST_TEST(prefetch.next().use_count() == 1);
  BOOST_TEST(made.expired());
}

BOOST_AUTO_TEST_CASE(what_is_thrown_belongs_to_the_caller_alone) {
  detail::Prefetch prefetch(trainer, make(true));
  prefetch.ask(indices());
  BOOST_CHECK_THROW(static_cast<void>(prefetch.next()), Refusal);
  BOOST_TEST(made.expired());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
