// Exceptions of registered types arrive with the type that was thrown.
#include <boost/test/unit_test.hpp>

#include <string>

#include "tests/conformance/stream_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using boost::unit_test::fixture;

/// Returns the NoSuchRow that `call` throws.
template <class Call>
NoSuchRow missing_of(Call call, Error* origin = nullptr) {
  try {
    static_cast<void>(call());
  } catch (const NoSuchRow& missing) {
    if (origin != nullptr) *origin = *remote_error_of(missing);
    return missing;
  }
  throw std::logic_error("expected a NoSuchRow, nothing was thrown");
}

BOOST_FIXTURE_TEST_SUITE(exceptions, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(registered_exception_arrives_as_its_type_with_its_fields_and_text) {
  for (const char* node : {"p1", "trainer"}) {
    Error origin;
    const NoSuchRow missing =
        missing_of([&] { return trainer.rpc_sync(node, &lookup, "w\xC3\xB6rter \"1\"\n", 7); }, &origin);
    BOOST_TEST(missing.table == "w\xC3\xB6rter \"1\"\n");
    BOOST_TEST(missing.row == 7);
    BOOST_TEST(origin.peer == node);
    BOOST_TEST(origin.message == "no row 7 in w\xC3\xB6rter \"1\"\n");
    BOOST_TEST(origin.code == ErrorCode::remote_exception);
    BOOST_TEST(origin.exception_type == "troupe::testing::NoSuchRow");
  }
}

BOOST_AUTO_TEST_CASE(text_of_a_registered_exception_is_unchanged) {
  try {
    static_cast<void>(trainer.rpc_sync("p1", &lookup, "t", 3));
    BOOST_FAIL("nothing was thrown");
  } catch (const std::runtime_error& error) {
    BOOST_TEST(std::string(error.what()) == "no row 3 in t");
  }
}

BOOST_AUTO_TEST_CASE(registered_exception_of_a_coroutine_arrives_too) {
  BOOST_TEST(missing_of([&] { return trainer.rpc_sync("p1", &lookup_later, "t", 5); }).row == 5);
}

BOOST_AUTO_TEST_CASE(registered_exception_goes_through_a_function_in_between) {
  Error origin;
  const NoSuchRow missing = missing_of([&] { return trainer.rpc_sync("p1", &lookup_on, "p2", "t", 9); }, &origin);
  BOOST_TEST(missing.row == 9);
  BOOST_TEST(missing.table == "t");
  BOOST_TEST(origin.peer == "p1");
  BOOST_TEST(origin.exception_type == "troupe::testing::NoSuchRow");
  BOOST_TEST(origin.cause.starts_with("rpc lookup on p2: remote_exception: no row 9 in t"));
}

BOOST_AUTO_TEST_CASE(function_in_between_may_catch_it) {
  BOOST_TEST(trainer.rpc_sync("p1", &missing_on, "p2", "t", 11) == 11);
}

BOOST_AUTO_TEST_CASE(reference_whose_creation_threw_throws_the_same) {
  const RRef<std::int64_t> never = trainer.remote("p1", &lookup, "t", 2);
  for (int i = 0; i < 2; ++i) BOOST_TEST(missing_of([&] { return never.to_here(trainer); }).row == 2);
}

BOOST_AUTO_TEST_CASE(unregistered_exception_names_its_type) {
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &throw_only_here); });
  BOOST_TEST(error.exception_type == "troupe::testing::OnlyHere");
  BOOST_TEST(error.message == "only here");
  BOOST_TEST(error.hint ==
             "its type troupe::testing::OnlyHere is not registered: "
             "exception<troupe::testing::OnlyHere>(\"name\") does that");
}

BOOST_AUTO_TEST_CASE(exception_of_the_standard_library_has_no_hint_to_register_it) {
  BOOST_TEST(error_of([&] { return trainer.rpc_sync("p1", &throw_text, "text"); }).hint.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
