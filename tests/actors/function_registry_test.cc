#include "actors/function_registry.h"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "actors/calls/function_table.h"
#include "actors/scope.h"
#include "tensor/create.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(function_registry)

int twice(int x) { return 2 * x; }
int thrice(int x) noexcept { return 3 * x; }
double twice(double x) { return 2 * x; }
std::string in_scope(Scope&, const std::string& text) { return text; }

struct Broken : std::runtime_error {
  Broken() : runtime_error("broken") {}
  std::int32_t part = 0;
  std::string notes;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(part, notes);
  }
};
struct Stained : std::runtime_error {
  Stained() : runtime_error("stained") {}
  Tensor stain = zeros({1});
  template <class Archive>
  void serialize(Archive& ar) {
    ar(stain);
  }
};
struct Lost : std::exception {
  template <class Archive>
  void serialize(Archive&) {}
};

struct Account {
  int balance = 0;
  int add(int amount) { return balance += amount; }
  int get() const { return balance; }
  int get_fast() const noexcept { return balance; }
};

struct Negate {
  int operator()(int x) const { return -x; }
};

constexpr auto square = [](int x) { return x * x; };
constexpr auto cube = [](int x) { return x * x * x; };

auto says(std::string_view text) {
  return [text](const std::invalid_argument& error) { return std::string_view(error.what()) == text; };
}

BOOST_AUTO_TEST_CASE(every_kind_of_callable_is_found_by_itself) {
  const FunctionRegistry registry{{"twice int", static_cast<int (*)(int)>(&twice)},
                                  {"twice double", static_cast<double (*)(double)>(&twice)},
                                  {"thrice", &thrice},
                                  {"in_scope", &in_scope},
                                  {"add", &Account::add},
                                  {"get", &Account::get},
                                  {"get_fast", &Account::get_fast},
                                  {"Negate", Negate{}},
                                  {"square", square},
                                  {"cube", cube},
                                  {"text", constructor<std::string, std::string>}};
  const auto name = [&](const auto& callable) { return registry.table().find(detail::key_of(callable))->name; };
  BOOST_TEST(name(static_cast<int (*)(int)>(&twice)) == "twice int");
  BOOST_TEST(name(static_cast<double (*)(double)>(&twice)) == "twice double");
  BOOST_TEST(name(&thrice) == "thrice");
  BOOST_TEST(name(&in_scope) == "in_scope");
  BOOST_TEST(name(&Account::add) == "add");
  BOOST_TEST(name(&Account::get) == "get");
  BOOST_TEST(name(&Account::get_fast) == "get_fast");
  BOOST_TEST(name(Negate{}) == "Negate");
  BOOST_TEST(name(square) == "square");
  BOOST_TEST(name(cube) == "cube");
  BOOST_TEST(name(constructor<std::string, std::string>) == "text");
}

BOOST_AUTO_TEST_CASE(functions_are_found_by_the_key_of_their_name) {
  const FunctionRegistry registry{{"thrice", &thrice}, {"add", &Account::add}};
  BOOST_TEST(registry.table().find(detail::function_key("add"))->name == "add");
  BOOST_TEST((*registry.table().find(detail::function_key("add"))->object == typeid(Account)));
  BOOST_TEST(registry.table().find(detail::function_key("thrice"))->is_member == false);
  BOOST_TEST(registry.table().find(detail::function_key("missing")) == nullptr);
  BOOST_TEST(registry.table().find(detail::key_of(square)) == nullptr);
  BOOST_TEST(registry.names() == (std::vector<std::string>{"add", "thrice"}), boost::test_tools::per_element());
}

// FNV-1a of "a": (0xcbf29ce484222325 ^ 0x61) * 0x100000001b3
BOOST_AUTO_TEST_CASE(key_of_a_name_is_the_same_in_every_build) {
  BOOST_TEST(detail::function_key("").value == 0xcbf29ce484222325U);
  BOOST_TEST(detail::function_key("a").value == 0xaf63dc4c8601ec8cU);
}

BOOST_AUTO_TEST_CASE(name_given_twice_is_refused) {
  BOOST_CHECK_EXCEPTION(FunctionRegistry({{"f", &thrice}, {"f", square}}), std::invalid_argument,
                        says("[FunctionRegistry] the name \"f\" is given twice"));
}

BOOST_AUTO_TEST_CASE(callable_under_two_names_is_refused) {
  BOOST_CHECK_EXCEPTION(FunctionRegistry({{"f", &thrice}, {"g", &thrice}}), std::invalid_argument,
                        says("[FunctionRegistry] one callable under two names: \"f\" and \"g\""));
}

BOOST_AUTO_TEST_CASE(empty_name_is_refused) {
  BOOST_CHECK_EXCEPTION(FunctionRegistry({{"", &thrice}}), std::invalid_argument,
                        says("[FunctionRegistry] a function needs a name"));
}

BOOST_AUTO_TEST_CASE(exception_types_have_one_name_each) {
  const FunctionRegistry base{{"thrice", &thrice}, exception<Broken>("broken")};
  BOOST_TEST(base.names() == (std::vector<std::string>{"thrice"}), boost::test_tools::per_element());
  BOOST_CHECK_EXCEPTION(base.with({exception<Broken>("broken_too")}), std::invalid_argument,
                        says("[FunctionRegistry] one exception type under two names: \"broken\" and \"broken_too\""));
  BOOST_CHECK_EXCEPTION(base.with({exception<Lost>("broken")}), std::invalid_argument,
                        says("[FunctionRegistry] the name \"broken\" is given to two exception types"));
  BOOST_CHECK_EXCEPTION(FunctionRegistry({exception<Broken>("")}), std::invalid_argument,
                        says("[FunctionRegistry] an exception type needs a name"));
}

BOOST_AUTO_TEST_CASE(exception_is_described_and_raised_as_what_it_was) {
  const auto types = FunctionRegistry({exception<Broken>("broken")}).table().exceptions();
  Broken thrown;
  thrown.part = 7;
  Error error;
  error.message = "worn out";
  types->describe(thrown, error);
  BOOST_TEST(error.exception.name == "broken");
  BOOST_CHECK_EXCEPTION(types->raise(error), Broken,
                        [](const Broken& b) { return b.part == 7 && std::string(b.what()) == "worn out"; });
  // A foreign exception of that name, or malformed bytes: a plain RemoteError.
  Error other = error;
  ++other.exception.fingerprint.value;
  BOOST_CHECK_THROW(detail::throw_error(types.get(), other), RemoteError);
  other = error;
  other.exception.bytes.pop_back();
  BOOST_CHECK_THROW(detail::throw_error(types.get(), other), RemoteError);
  other = error;
  other.exception.name = "unknown";
  BOOST_CHECK_THROW(detail::throw_error(types.get(), other), RemoteError);
  BOOST_CHECK_THROW(detail::throw_error(nullptr, error), RemoteError);
  Error plain;
  types->describe(std::runtime_error("x"), plain);
  BOOST_TEST(plain.exception.name.empty());
}

BOOST_AUTO_TEST_CASE(fields_that_are_too_large_stay_behind_and_say_so) {
  const auto types = FunctionRegistry({exception<Broken>("broken")}).table().exceptions();
  Broken thrown;
  thrown.notes = std::string(70'000, 'x');
  Error error;
  types->describe(thrown, error);
  BOOST_TEST(error.exception.name.empty());
  BOOST_TEST(error.hint == "the fields of broken do not travel: 70012 bytes, at most 61440");
}

BOOST_AUTO_TEST_CASE(fields_with_a_tensor_stay_behind_and_say_so) {
  Error error;
  FunctionRegistry({exception<Stained>("stained")}).table().exceptions()->describe(Stained(), error);
  BOOST_TEST(error.exception.name.empty());
  BOOST_TEST(error.hint == "the fields of stained do not travel: they hold a tensor");
}

BOOST_AUTO_TEST_CASE(extension_leaves_the_original_as_it_was) {
  const FunctionRegistry base{{"thrice", &thrice}};
  const FunctionRegistry more = base.with({{"square", square}});
  BOOST_TEST(base.names().size() == 1U);
  BOOST_TEST(more.names().size() == 2U);
  BOOST_CHECK_EXCEPTION(more.with({{"square", cube}}), std::invalid_argument,
                        says("[FunctionRegistry] the name \"square\" is given twice"));
}

BOOST_AUTO_TEST_CASE(shared_function_outlives_its_registry) {
  std::shared_ptr<const detail::RegisteredFunction> kept;
  {
    const FunctionRegistry registry{{"thrice", &thrice}};
    kept = registry.table().find_shared(detail::function_key("thrice"));
  }
  BOOST_TEST(kept->name == "thrice");
}

BOOST_AUTO_TEST_CASE(moved_registry_keeps_its_functions) {
  FunctionRegistry registry{{"square", square}};
  const FunctionRegistry moved = std::move(registry);
  const std::vector<std::string> names{"square"};
  BOOST_TEST((moved.names() == names));
  BOOST_TEST((registry.names() == names));  // NOLINT(bugprone-use-after-move)
}

BOOST_AUTO_TEST_CASE(group_registers_all_its_functions_under_its_name) {
  struct Both {
    std::vector<detail::RegisteredFunction> functions(const std::string& name) const {
      return {detail::registered(name, &thrice), detail::registered(name + "::square", square)};
    }
  };
  const FunctionRegistry registry{{"both", Both()}, {"cube", cube}};
  BOOST_TEST((registry.names() == std::vector<std::string>{"both", "both::square", "cube"}));
  BOOST_TEST(registry.table().find(detail::key_of(square))->name == "both::square");
  BOOST_CHECK_THROW((FunctionRegistry{{"both", Both()}, {"again", square}}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(fingerprint_is_that_of_the_wire_types_in_order) {
  const auto of = [](const auto& callable) {
    return std::get<detail::RegisteredFunction>(Registration("f", callable).entries().front()).fingerprint;
  };
  const auto by_value = [](std::string text, int) { return text; };
  const auto by_reference = [](const std::string& text, int&&) -> const std::string& { return text; };
  const auto scoped = [](Scope&, std::string text, int) { return text; };
  const auto swapped = [](int, std::string text) { return text; };
  const auto other_result = [](std::string, int) { return 1; };
  BOOST_TEST((of(by_value) == of(by_reference)));
  BOOST_TEST((of(by_value) == of(scoped)));
  BOOST_TEST((of(by_value) != of(swapped)));
  BOOST_TEST((of(by_value) != of(other_result)));
  BOOST_TEST((of(&Account::get) == of(&Account::get_fast)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
