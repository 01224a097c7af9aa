#include "messages/archive.h"

#include <boost/test/unit_test.hpp>

#include <limits>

#include "messages/values.h"
#include "tensor/create.h"
#include "tests/support/counting_new.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(archive)

namespace {

struct Point {
  float x = 0;
  float y = 0;
  friend bool operator==(const Point&, const Point&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(x, y);
  }
};

/// A type with free functions, as a user writes them for a third-party type.
struct Interval {
  std::int32_t low = 0;
  std::int32_t high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};
template <class Archive>
void save(Archive& ar, const Interval& value) {
  ar(value.low, value.high);
}
template <class Archive>
void load(Archive& ar, Interval& value) {
  ar(value.low, value.high);
}

class Celsius {
 public:
  Celsius() = default;
  explicit Celsius(double degrees) : degrees_(degrees) {}
  friend bool operator==(const Celsius&, const Celsius&) = default;

 private:
  friend class cereal::access;
  template <class Archive>
  double save_minimal(const Archive&) const {
    return degrees_;
  }
  template <class Archive>
  void load_minimal(const Archive&, const double& degrees) {
    degrees_ = degrees;
  }
  double degrees_ = 0;
};

struct Named : Point {
  std::string name;
  friend bool operator==(const Named&, const Named&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(cereal::base_class<Point>(this), cereal::make_nvp("name", name));
  }
};

struct Versioned {
  std::int32_t value = 0;
  std::uint32_t seen = 0;
  template <class Archive>
  void serialize(Archive& ar, std::uint32_t version) {
    ar& value;
    if (Archive::is_loading::value) seen = version;
  }
};

/// Writes a container by hand, as cereal does.
struct Stack {
  std::vector<std::int32_t> items;
  friend bool operator==(const Stack&, const Stack&) = default;
  template <class Archive>
  void save(Archive& ar) const {
    ar(cereal::make_size_tag(static_cast<cereal::size_type>(items.size())));
    for (const auto item : items) ar(item);
  }
  template <class Archive>
  void load(Archive& ar) {
    cereal::size_type size = 0;
    ar(cereal::make_size_tag(size));
    items.resize(size);
    for (auto& item : items) ar(item);
  }
};

struct Tree {
  std::vector<Tree> children;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(children);
  }
};

struct Chain {
  std::unique_ptr<Chain> next;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(next);
  }
};

struct Nothing {
  friend bool operator==(const Nothing&, const Nothing&) = default;
};

/// A type much larger in memory than on the wire.
struct Wide {
  std::array<char, 4096> room{};
  std::uint8_t value = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

enum class Color : std::uint16_t { red = 1, blue = 700 };

struct Opaque {
  int* value = nullptr;
};
struct Virtual {
  virtual ~Virtual() = default;
};

static_assert(Travels<std::map<std::string, std::vector<std::optional<Point>>>> && Travels<Interval> &&
              Travels<Celsius> && Travels<Tensor> && Travels<Tree> && Travels<Nothing>);
static_assert(!Travels<Opaque> && !Travels<std::vector<Opaque>> && !Travels<int*> && !Travels<long double> &&
              !Travels<std::shared_ptr<int>> && !Travels<std::unique_ptr<Virtual>> && !Travels<std::string_view>);

// What samples/guide/own_types.md names.
template <template <class...> class... Containers>
constexpr bool kAllTravelOfTexts = (Travels<Containers<std::string>> && ...);
static_assert(kAllTravelOfTexts<std::vector, std::deque, std::list, std::set, std::multiset, std::unordered_set,
                                std::tuple, std::optional, std::variant, std::unique_ptr>);
template <template <class...> class... Pairs>
constexpr bool kAllTravelFromTexts = (Travels<Pairs<std::string, Point>> && ...);
static_assert(kAllTravelFromTexts<std::map, std::multimap, std::unordered_map, std::pair>);
static_assert(Travels<std::array<Point, 3>> && Travels<std::string> && Travels<Color> && Travels<bool> &&
              Travels<char> && Travels<std::int8_t> && Travels<std::uint64_t> && Travels<float> && Travels<double> &&
              Travels<std::chrono::nanoseconds> && Travels<std::chrono::duration<double>>);
// Equal keys would fill a bucket, which is refused.
static_assert(!Travels<std::unordered_multimap<int, int>> && !Travels<std::unordered_multiset<int>>);

template <class T>
void check_round_trip(const T& value) {
  const msg::Payload payload = to_payload(nullptr, value);
  const auto [received] = from_payload<T>(payload);
  BOOST_TEST((received == value));
}

std::vector<std::byte> encoded(const auto& value) {
  const Frame bytes = to_payload(nullptr, value).bytes;
  return {bytes.bytes.begin(), bytes.bytes.end()};
}

/// Decodes `bytes` as a T.
template <class T>
T decoded(std::span<const std::byte> bytes) {
  InArchive ar(bytes, {});
  T value{};
  ar(value);
  ar.finish();
  return value;
}

template <class T>
void check_refused(std::span<const std::byte> bytes, const std::string& text) {
  BOOST_CHECK_EXCEPTION(std::ignore = decoded<T>(bytes), DecodeError, [&](const DecodeError& e) {
    BOOST_TEST(e.what() == text);
    return e.what() == text;
  });
}

std::vector<std::byte> little_endian(std::initializer_list<std::uint64_t> words) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t word : words) {
    for (unsigned i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>((word >> (8 * i)) & 0xFFU));
  }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_of_every_width_survive) {
  check_round_trip(std::int8_t{-128});
  check_round_trip(std::uint64_t{18446744073709551615U});
  check_round_trip(std::numeric_limits<long>::min());
  check_round_trip(-0.0F);
  check_round_trip(std::numeric_limits<double>::denorm_min());
  check_round_trip(true);
  check_round_trip('x');
  check_round_trip(Color::blue);
}

BOOST_AUTO_TEST_CASE(containers_of_every_kind_survive) {
  check_round_trip(std::string("a\0b", 3));
  check_round_trip(std::vector<double>{1.5, -2.5});
  check_round_trip(std::vector<std::byte>{std::byte{1}});
  check_round_trip(std::vector<bool>{true, false, true});
  check_round_trip(std::vector<std::string>{"", "longer than the small string buffer", "x"});
  check_round_trip(std::deque<std::string>{"a", "b"});
  check_round_trip(std::list<Point>{{1, 2}, {3, 4}});
  check_round_trip(std::array<std::string, 2>{"a", "b"});
  check_round_trip(std::map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}});
  check_round_trip(std::multimap<int, int>{{1, 2}, {1, 3}});
  check_round_trip(std::unordered_map<std::string, double>{{"a", 1}, {"b", 2}, {"c", 3}});
  check_round_trip(std::set<int>{3, 1, 2});
  check_round_trip(std::unordered_set<int>{3, 1, 2});
  check_round_trip(std::pair<int, std::string>{1, "a"});
  check_round_trip(std::tuple<int, std::string, bool>{1, "a", true});
  check_round_trip(std::optional<std::string>{"a"});
  check_round_trip(std::optional<std::string>{});
  check_round_trip(std::variant<int, std::string, int>{std::in_place_index<2>, 7});
  check_round_trip(std::chrono::milliseconds(-5));
  check_round_trip(std::vector<std::vector<std::map<int, std::optional<Point>>>>{{{{1, Point{1, 2}}}}, {}});
}

BOOST_AUTO_TEST_CASE(user_types_travel_by_any_of_cereals_forms, *boost::unit_test::label("R-30")) {
  check_round_trip(Point{1, 2});
  check_round_trip(Interval{-1, 1});
  check_round_trip(Celsius(36.6));
  check_round_trip(Named{{1, 2}, "home"});
  check_round_trip(Stack{{1, 2, 3}});
  check_round_trip(Nothing{});
  const auto [versioned] = from_payload<Versioned>(to_payload(nullptr, Versioned{5, 0}));
  BOOST_TEST(versioned.value == 5);
  BOOST_TEST(versioned.seen == 0U);
}

BOOST_AUTO_TEST_CASE(numbers_are_little_endian_of_fixed_width_and_lengths_have_64_bits) {
  using Bytes = std::vector<std::byte>;
  const auto bytes = [](std::initializer_list<int> values) {
    Bytes result;
    for (const int value : values) result.push_back(static_cast<std::byte>(value));
    return result;
  };
  BOOST_TEST((encoded(std::uint16_t{0x0102}) == bytes({2, 1})));
  BOOST_TEST((encoded(1L) == bytes({1, 0, 0, 0, 0, 0, 0, 0})));
  BOOST_TEST((encoded(1.0F) == bytes({0, 0, 0x80, 0x3f})));
  BOOST_TEST((encoded(std::string("hi")) == bytes({2, 0, 0, 0, 0, 0, 0, 0, 'h', 'i'})));
  BOOST_TEST((encoded(std::optional<bool>{true}) == bytes({1, 1})));
  BOOST_TEST((encoded(std::variant<bool, char>{'a'}) == bytes({1, 0, 0, 0, 'a'})));
  BOOST_TEST((encoded(Color::blue) == bytes({0xbc, 0x02})));  // 700 = 0x2bc
}

BOOST_AUTO_TEST_CASE(what_is_sent_of_a_hash_map_does_not_depend_on_hashes) {
  const std::unordered_map<int, int> few_buckets{{1, 1}, {2, 2}, {3, 3}};
  std::unordered_map<int, int> many_buckets(1000);
  for (const int key : {3, 1, 2}) many_buckets[key] = key;
  BOOST_TEST((encoded(few_buckets) == encoded(many_buckets)));
}

// Inserting one more key compares it with all in its bucket.
BOOST_AUTO_TEST_CASE(keys_chosen_so_that_their_hashes_collide_are_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  constexpr std::uint64_t kCount = 3'000;
  std::unordered_set<std::uint64_t> keys;
  std::unordered_map<std::string, bool> words;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    keys.insert(i);
    words[std::to_string(i)] = true;
  }
  check_round_trip(keys);
  check_round_trip(words);

  const std::uint64_t buckets = keys.bucket_count();  // a hash is the number itself
  keys.clear();
  for (std::uint64_t i = 0; i < kCount; ++i) keys.insert(i * buckets);
  BOOST_TEST_REQUIRE(keys.bucket_size(0) == kCount);
  constexpr const char* kText = "[decode] more than 1024 keys whose hashes fall into one bucket";
  check_refused<std::unordered_set<std::uint64_t>>(encoded(keys), kText);
  std::unordered_map<std::uint64_t, bool> values;
  for (const std::uint64_t key : keys) values[key] = true;
  check_refused<std::unordered_map<std::uint64_t, bool>>(encoded(values), kText);
  BOOST_TEST((decoded<std::set<std::uint64_t>>(encoded(keys)).size() == kCount));
}

BOOST_AUTO_TEST_CASE(a_length_beyond_the_bytes_that_remain_is_refused_before_anything_is_allocated) {
  const auto huge = little_endian({std::numeric_limits<std::uint64_t>::max()});
  const auto half = little_endian({std::uint64_t{1} << 63U});
  for (const auto& bytes : {huge, half}) {
    const testing::PeakMemory peak;
    BOOST_CHECK_THROW(std::ignore = decoded<std::string>(bytes), DecodeError);
    BOOST_CHECK_THROW(std::ignore = decoded<std::vector<double>>(bytes), DecodeError);
    BOOST_CHECK_THROW(std::ignore = decoded<std::vector<bool>>(bytes), DecodeError);
    BOOST_CHECK_THROW(std::ignore = decoded<std::vector<std::string>>(bytes), DecodeError);
    BOOST_CHECK_THROW(std::ignore = decoded<std::deque<Point>>(bytes), DecodeError);
    BOOST_CHECK_THROW(std::ignore = (decoded<std::map<int, int>>(bytes)), DecodeError);
    BOOST_CHECK_THROW(std::ignore = decoded<std::unordered_set<int>>(bytes), DecodeError);
    BOOST_CHECK_THROW(std::ignore = decoded<Stack>(bytes), DecodeError);
    BOOST_TEST(peak.bytes() < 64U << 10U);
  }
  check_refused<std::string>(little_endian({9, 0}), "[decode] 9 elements of 1 bytes: 8 bytes remain");
  check_refused<std::int32_t>(little_endian({}), "[decode] needs 4 bytes: 0 remain");
  check_refused<std::vector<Point>>(little_endian({2000, 0}), "[decode] 2000 elements: 8 bytes remain");
}

BOOST_AUTO_TEST_CASE(capacity_grows_only_as_elements_are_really_there) {
  // The length says 1,000,000 elements, but 99 are present; the 100th is the boolean 7.
  std::vector<std::byte> bytes = little_endian({1'000'000});
  bytes.resize(bytes.size() + 1'000'000);
  const auto in_vain = [](std::span<const std::byte> input) {
    InArchive ar(input, {});
    std::vector<std::pair<Wide, bool>> values;
    ar(values);
  };
  bytes[8 + 99 * 2 + 1] = std::byte{7};
  const testing::PeakMemory peak;
  BOOST_CHECK_THROW(in_vain(bytes), DecodeError);
  // Maximum: 100 elements, moved into memory for 200.
  BOOST_TEST(peak.bytes() < (64U << 10U) + 3 * 100 * sizeof(std::pair<Wide, bool>));
}

BOOST_AUTO_TEST_CASE(up_to_1024_elements_may_be_empty_and_no_more) {
  check_round_trip(std::vector<Nothing>(1024));
  check_refused<std::vector<Nothing>>(little_endian({1025}), "[decode] 1025 elements: 0 bytes remain");
  auto bytes = little_endian({1025});
  bytes.push_back(std::byte{0});
  check_refused<std::vector<Nothing>>(bytes, "[decode] more than 1024 elements that take no bytes");
  BOOST_CHECK_EXCEPTION(std::ignore = encoded(std::vector<Nothing>(1025)), EncodeError, [](const EncodeError& e) {
    return e.code() == ErrorCode::not_serializable &&
           std::string_view(e.what()) == "[encode] more than 1024 elements that take no bytes";
  });
}

BOOST_AUTO_TEST_CASE(nesting_ends_at_64_on_both_sides) {
  const auto tree = [](int depth) {
    Tree root;
    for (int i = 1; i < depth; ++i) {
      Tree parent;
      parent.children.push_back(std::move(root));
      root = std::move(parent);
    }
    return root;
  };
  const std::vector<std::byte> deepest = encoded(tree(64));
  BOOST_CHECK_NO_THROW(std::ignore = decoded<Tree>(deepest));
  BOOST_CHECK_EXCEPTION(std::ignore = encoded(tree(65)), EncodeError, [](const EncodeError& e) {
    return std::string_view(e.what()) == "[encode] nested deeper than 64";
  });
  check_refused<Tree>(std::vector<std::byte>(2'000'000, std::byte{1}),
                      "[decode] 72340172838076673 elements: 1999992 bytes remain");
  check_refused<Chain>(std::vector<std::byte>(2'000'000, std::byte{1}), "[decode] nested deeper than 64");
}

BOOST_AUTO_TEST_CASE(values_that_mean_nothing_are_refused) {
  const std::vector<std::byte> two{std::byte{2}};
  check_refused<bool>(two, "[decode] not a boolean: 2");
  check_refused<std::optional<bool>>(two, "[decode] not a boolean: 2");
  std::vector<std::byte> third(4);
  third[0] = std::byte{2};
  check_refused<std::variant<int, bool>>(third, "[decode] alternative 2 of 2");
  // Two elements, both with key 1.
  check_refused<std::set<std::int64_t>>(little_endian({2, 1, 1}), "[decode] a key appears twice");
  check_refused<std::map<std::int64_t, std::int64_t>>(little_endian({2, 1, 5, 1, 6}), "[decode] a key appears twice");
}

BOOST_AUTO_TEST_CASE(bytes_that_no_value_took_are_refused) {
  check_refused<std::int64_t>(little_endian({1, 2}), "[decode] 8 bytes left over");
}

BOOST_AUTO_TEST_CASE(both_archives_hand_out_their_hook) {
  ArchiveHook hook;
  OutArchive out(&hook);
  const InArchive in({}, {}, &hook);
  BOOST_TEST(out.hook() == &hook);
  BOOST_TEST(in.hook() == &hook);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
