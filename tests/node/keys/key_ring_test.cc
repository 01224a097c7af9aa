#include "node/keys/key_ring.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "messages/frame.h"
#include "node/file_descriptor.h"

namespace troupe {
namespace {

using detail::FileDescriptor;

const std::vector<NodeName> kRingNames{"ps", "trainer0", "trainer1"};

std::vector<std::byte> bytes_of(const KeyRing& ring) {
  const LockedBytes locked = ring.to_bytes();
  return {locked.bytes().begin(), locked.bytes().end()};
}

std::string refusal(std::span<const std::byte> bytes) {
  const auto ring = KeyRing::from_bytes(bytes);
  BOOST_TEST_REQUIRE(!ring.ok());
  BOOST_TEST((ring.error().code == ErrorCode::bad_argument));
  return ring.error().message;
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    read_end = ends[0];
    write_end = FileDescriptor(ends[1]);
    ::fcntl(read_end, F_SETFL, 0);
  }
  void write(std::span<const std::byte> bytes) const {
    BOOST_REQUIRE(::write(write_end.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  int read_end = -1;  ///< closed by its reader
  FileDescriptor write_end;
};

BOOST_AUTO_TEST_SUITE(key_ring)

BOOST_AUTO_TEST_CASE(each_node_of_a_run_has_a_key_of_its_own_and_knows_those_of_all) {
  const std::vector<KeyRing> rings = make_run_keys(kRingNames);
  BOOST_TEST_REQUIRE(rings.size() == 3U);
  for (std::size_t i = 0; i < rings.size(); ++i) {
    BOOST_TEST(rings[i].own_name() == kRingNames[i]);
    BOOST_TEST_REQUIRE(rings[i].members().size() == 3U);
    for (std::size_t k = 0; k < rings.size(); ++k) {
      BOOST_TEST(rings[i].members()[k].name == kRingNames[k]);
      BOOST_CHECK(rings[i].key_of(kRingNames[k]) == rings[k].own_keys().public_key());
      BOOST_TEST(rings[i].name_of(rings[k].own_keys().public_key()).value() == kRingNames[k]);
    }
  }
  BOOST_CHECK(rings[0].own_keys().public_key() != rings[1].own_keys().public_key());
  BOOST_CHECK(!rings[0].key_of("trainer"));
  BOOST_CHECK(!rings[0].name_of(KeyPair::random().public_key()));
  BOOST_CHECK(make_run_keys(kRingNames)[0].own_keys().public_key() != rings[0].own_keys().public_key());
}

BOOST_AUTO_TEST_CASE(names_that_nodes_cannot_have_get_no_keys) {
  const auto text = [](const std::vector<NodeName>& names) -> std::string {
    try {
      (void)make_run_keys(names);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  BOOST_TEST(text({"ps", "a/b"}) == "[keys] \"a/b\" is not 1 to 127 of A-Z a-z 0-9 - _ : .");
  BOOST_TEST(text({"ps", "x", "ps"}) == "[keys] the list of members names \"ps\" twice");
  BOOST_TEST(text({}) == "[keys] 0 members, expected 1 to 65536");
}

BOOST_AUTO_TEST_CASE(bytes_are_as_written_by_hand) {
  const KeyRing ring = make_run_keys(std::vector<NodeName>{"a", "bc"})[1];
  const std::vector<std::byte> bytes = bytes_of(ring);
  BOOST_TEST_REQUIRE(bytes.size() == 48U + 34U + 35U);  // head, 1 + 1 + 32, 1 + 2 + 32
  const auto at = [&bytes](std::size_t place) { return std::to_integer<unsigned>(bytes[place]); };
  BOOST_TEST((at(0) == 'T' && at(1) == 'R' && at(2) == 'P' && at(3) == 'K'));
  BOOST_TEST((at(4) == 1 && at(5) == 0 && at(6) == 0 && at(7) == 0));  // version
  BOOST_TEST(std::ranges::equal(std::span(bytes).subspan(8, 32), ring.own_keys().secret()));
  BOOST_TEST((at(40) == 2 && at(41) == 0 && at(42) == 0 && at(43) == 0));  // members
  BOOST_TEST((at(44) == 1 && at(45) == 0 && at(46) == 0 && at(47) == 0));  // the second is this one
  BOOST_TEST((at(48) == 1 && at(49) == 'a'));
  BOOST_TEST(std::ranges::equal(std::span(bytes).subspan(50, 32), ring.members()[0].key.bytes));
  BOOST_TEST((at(82) == 2 && at(83) == 'b' && at(84) == 'c'));
  BOOST_TEST(std::ranges::equal(std::span(bytes).subspan(85, 32), ring.own_keys().public_key().bytes));
}

BOOST_AUTO_TEST_CASE(ring_survives_the_way_through_bytes) {
  const KeyRing ring = make_run_keys(kRingNames)[1];
  const KeyRing read = KeyRing::from_bytes(bytes_of(ring)).value();
  BOOST_TEST(read.own_name() == "trainer0");
  BOOST_CHECK(read.own_keys().public_key() == ring.own_keys().public_key());
  BOOST_TEST(std::ranges::equal(read.own_keys().secret(), ring.own_keys().secret()));
  BOOST_CHECK(read.key_of("trainer1") == ring.key_of("trainer1"));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_cut_anywhere_are_refused) {
  const std::vector<std::byte> bytes = bytes_of(make_run_keys(kRingNames)[2]);
  for (std::size_t size = 0; size < bytes.size(); ++size) (void)refusal(std::span(bytes).first(size));
  BOOST_TEST(refusal(std::span(bytes).first(10)) == "the key ring has only 10 bytes, expected at least 48");
  BOOST_TEST(refusal(std::span(bytes).first(100)) == "the key ring ends within member 1 of 3");
}

BOOST_AUTO_TEST_CASE(bytes_with_a_lie_are_refused_with_its_place) {
  const std::vector<std::byte> bytes = bytes_of(make_run_keys(kRingNames)[0]);
  const auto with = [&bytes](std::size_t at, unsigned value) {
    std::vector<std::byte> changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    return refusal(changed);
  };
  BOOST_TEST(with(0, 'X') == "the key ring does not begin as a key ring of version 1");
  BOOST_TEST(with(4, 2) == "the key ring does not begin as a key ring of version 1");
  BOOST_TEST(with(6, 1) == "the key ring does not begin as a key ring of version 1");
  BOOST_TEST(with(40, 0) == "the key ring names 0 members, expected 1 to 65536");
  BOOST_TEST(with(43, 0xFF) == "the key ring names 4278190083 members, expected 1 to 65536");  // 0xFF000003
  BOOST_TEST(with(41, 1) == "the key ring ends within member 3 of 259");
  BOOST_TEST(with(40, 2).starts_with("the key ring has 41 bytes after its last member"));  // 1 + 8 + 32
  BOOST_TEST(with(44, 3) == "the key ring is for member 3 of 3");
  BOOST_TEST(with(44, 1) == "the key ring has a secret key that is not that of trainer0");
  BOOST_TEST(with(15, std::to_integer<unsigned>(bytes[15]) ^ 1U) ==
             "the key ring has a secret key that is not that of ps");
  BOOST_TEST(with(49, '/') == "the key ring has a member 0 whose name is not 1 to 127 of A-Z a-z 0-9 - _ : .");
  BOOST_TEST(with(48 + 35 + 41 + 8, '0') == "the key ring names \"trainer0\" twice");  // trainer1's last letter
  std::vector<std::byte> same_key = bytes;
  std::ranges::copy(std::span(bytes).subspan(48 + 3, 32), same_key.begin() + 48 + 35 + 9);
  BOOST_TEST(refusal(same_key) == "the key ring gives \"trainer0\" the key of another member");
}

BOOST_AUTO_TEST_CASE(inherited_descriptor_has_the_ring_once) {
  const KeyRing ring = make_run_keys(kRingNames)[1];
  Pipe pipe;
  BOOST_REQUIRE(ring.to_descriptor(pipe.write_end.get()).ok());
  pipe.write_end.close();
  BOOST_TEST(KeyRing::from_descriptor(pipe.read_end).value().own_name() == "trainer0");
  BOOST_TEST((::fcntl(pipe.read_end, F_GETFD) == -1 && errno == EBADF));
}

BOOST_AUTO_TEST_CASE(ring_of_a_large_cluster_passes_a_descriptor_that_is_read_meanwhile) {
  std::vector<NodeName> names;
  for (int i = 0; i < 2000; ++i) names.push_back("worker" + std::to_string(i));
  const KeyRing ring = make_run_keys(names)[1999];
  const std::vector<std::byte> bytes = bytes_of(ring);
  BOOST_TEST(bytes.size() > 65'536U);  // more than one read
  Pipe pipe;
  BOOST_TEST(!ring.to_descriptor(pipe.write_end.get()).ok());  // a pipe's 64 KiB, and no reader: it does not wait
  Pipe large;
  ::fcntl(large.write_end.get(), F_SETPIPE_SZ, static_cast<int>(bytes.size()));
  large.write(bytes);
  large.write_end.close();
  BOOST_TEST(KeyRing::from_descriptor(large.read_end).value().key_of("worker7").has_value());
  ::close(pipe.read_end);
}

BOOST_AUTO_TEST_CASE(descriptor_with_something_else_is_named) {
  const auto text = [](std::span<const std::byte> bytes) {
    Pipe pipe;
    pipe.write(bytes);
    pipe.write_end.close();
    std::string found = KeyRing::from_descriptor(pipe.read_end).error().message;
    const std::string expected = "the key ring in descriptor " + std::to_string(pipe.read_end) + " ";
    BOOST_TEST(found.starts_with(expected));
    return found.substr(expected.size());
  };
  const std::vector<std::byte> bytes = bytes_of(make_run_keys(kRingNames)[0]);
  BOOST_TEST(text(std::span(bytes).first(20)) == "has only 20 bytes, expected at least 48");
  BOOST_TEST(text(std::span(bytes).first(60)) == "ends within member 0 of 3");
  std::vector<std::byte> endless = bytes;
  endless.resize(48 + 60'000);
  BOOST_TEST(text(endless).starts_with("has "));
  BOOST_TEST(KeyRing::from_descriptor(-1).error().message ==
             "the key ring in descriptor -1 cannot be read: Bad file descriptor");
}

BOOST_AUTO_TEST_CASE(members_that_named_themselves_make_a_ring_for_each_of_them) {
  const std::vector<KeyPair> pairs{KeyPair::random(), KeyPair::random(), KeyPair::random()};
  std::vector<KeyRing::Member> members;
  for (std::size_t i = 0; i < pairs.size(); ++i) members.push_back({kRingNames[i], pairs[i].public_key()});
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto ring = KeyRing::from_members(pairs[i], members);
    BOOST_TEST_REQUIRE(ring.ok());
    BOOST_TEST(ring.value().own_name() == kRingNames[i]);
    BOOST_TEST((ring.value().own_keys().public_key() == pairs[i].public_key()));
    BOOST_TEST((ring.value().members().front().key == pairs[0].public_key()));
    BOOST_TEST(KeyRing::from_bytes(bytes_of(ring.value())).ok());
  }
}

BOOST_AUTO_TEST_CASE(members_that_contradict_each_other_make_no_ring) {
  const KeyPair own = KeyPair::random();
  const KeyPair other = KeyPair::random();
  const auto refused = [&](std::vector<KeyRing::Member> members) {
    const auto ring = KeyRing::from_members(own, std::move(members));
    BOOST_TEST_REQUIRE(!ring.ok());
    BOOST_TEST((ring.error().code == ErrorCode::bad_argument));
    return ring.error().message;
  };
  BOOST_TEST(refused({}) == "the key ring lacks the node whose ring it is");
  BOOST_TEST(refused({{"ps", other.public_key()}}) == "the key ring lacks the node whose ring it is");
  BOOST_TEST(refused({{"ps", own.public_key()}, {"ps", other.public_key()}}) == "the key ring names \"ps\" twice");
  BOOST_TEST(refused({{"ps", own.public_key()}, {"trainer0", own.public_key()}}) ==
             "the key ring gives \"trainer0\" the key of another member");
  BOOST_TEST(refused({{"no name", own.public_key()}}).starts_with("the key ring has a member 0 whose name is not "));
}

BOOST_AUTO_TEST_CASE(members_are_replaced_in_all_copies_of_a_ring_and_in_no_other) {
  const std::vector<KeyRing> rings = make_run_keys(kRingNames);
  const KeyRing copy = rings[0];
  int changes = 0;
  const auto watcher = std::make_shared<const int>();
  copy.on_change(watcher, [&] { ++changes; });
  const PublicKey fresh = KeyPair::random().public_key();
  BOOST_TEST(rings[0].replace_members({{"trainer0", fresh}, {"new", rings[1].own_keys().public_key()}}).ok());
  BOOST_TEST(changes == 1);
  BOOST_TEST(copy.version() == 1U);
  BOOST_TEST((copy.key_of("trainer0") == fresh));
  BOOST_TEST(!copy.key_of("ps"));
  BOOST_TEST(copy.own_name() == "ps");  // it is out, and stays who it is
  BOOST_TEST((copy.name_of(rings[1].own_keys().public_key()) == "new"));
  BOOST_TEST(copy.members().size() == 2U);
  BOOST_TEST(rings[1].version() == 0U);
  BOOST_TEST(rings[1].key_of("ps").has_value());
}

BOOST_AUTO_TEST_CASE(the_own_pair_is_replaced_in_all_copies_of_a_ring_and_in_no_other) {
  const std::vector<KeyRing> rings = make_run_keys(kRingNames);
  const KeyRing copy = rings[0];
  int changes = 0;
  const auto watcher = std::make_shared<const int>();
  copy.on_change(watcher, [&] { ++changes; });
  const PublicKey before = copy.own_keys().public_key();
  const KeyPair fresh = KeyPair::random();
  rings[0].replace_own_keys(fresh);
  BOOST_TEST(changes == 1);
  BOOST_TEST(copy.version() == 1U);
  BOOST_TEST((copy.own_keys().public_key() == fresh.public_key()));
  BOOST_TEST(std::ranges::equal(copy.own_keys().secret(), fresh.secret()));
  BOOST_TEST((copy.key_of("ps") == before));  // what others know of it is not its own to say
  BOOST_TEST((rings[1].own_keys().public_key() != fresh.public_key()));
}

BOOST_AUTO_TEST_CASE(who_watches_a_ring_is_forgotten_when_it_has_ended) {
  const KeyRing ring = make_run_keys(kRingNames)[0];
  const auto stays = std::make_shared<const int>();
  const auto changes = std::make_shared<int>(0);
  ring.on_change(stays, [changes] { ++*changes; });
  for (int i = 0; i < 100; ++i) {
    const auto ends = std::make_shared<const int>();
    ring.on_change(ends, [changes] { *changes += 1000; });
  }
  BOOST_TEST(changes.use_count() == 3);  // the test, who stays, and the last that has ended
  ring.replace_own_keys(KeyPair::random());
  BOOST_TEST(*changes == 1);
}

BOOST_AUTO_TEST_CASE(members_that_are_not_right_replace_nothing) {
  const KeyRing ring = make_run_keys(kRingNames)[0];
  const PublicKey key = KeyPair::random().public_key();
  BOOST_TEST(ring.replace_members({{"a", key}, {"b", key}}).error().message ==
             "the key ring gives \"b\" the key of another member");
  BOOST_TEST(
      ring.replace_members({{"a/b", key}}).error().message.starts_with("the key ring has a member 0 whose name"));
  BOOST_TEST(ring.version() == 0U);
  BOOST_TEST(ring.members().size() == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
