#include "node/engines/sealed_secret.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace troupe::detail {
namespace {

using Secret = std::array<std::byte, SealedSecret::kSecretBytes>;

Secret some_secret() {
  Secret secret{};
  secret.front() = std::byte{0xA5};
  secret.back() = std::byte{0x5A};
  return secret;
}

BOOST_AUTO_TEST_SUITE(sealed_secret)

BOOST_AUTO_TEST_CASE(only_the_reader_opens_a_seal_and_only_as_its_writers) {
  const KeyPair writer = KeyPair::random();
  const KeyPair reader = KeyPair::random();
  const KeyPair other = KeyPair::random();
  const Secret secret = some_secret();
  const SealedSecret sealed = seal(secret, writer, reader.public_key());
  const auto opened = unseal(sealed, reader, writer.public_key());
  BOOST_TEST_REQUIRE(opened.has_value());
  BOOST_TEST(std::ranges::equal(opened->bytes(), secret));
  BOOST_TEST(!unseal(sealed, other, writer.public_key()));
  BOOST_TEST(!unseal(sealed, reader, other.public_key()));
}

BOOST_AUTO_TEST_CASE(no_two_seals_are_equal) {
  const KeyPair pair = KeyPair::random();
  BOOST_TEST((seal(some_secret(), pair, pair.public_key()) != seal(some_secret(), pair, pair.public_key())));
}

BOOST_AUTO_TEST_CASE(a_seal_with_any_other_byte_is_refused) {
  const KeyPair pair = KeyPair::random();
  const SealedSecret sealed = seal(some_secret(), pair, pair.public_key());
  for (std::size_t i = 0; i < SealedSecret::kBytes; ++i) {
    SealedSecret changed = sealed;
    changed.bytes[i] ^= std::byte{1};
    BOOST_TEST(!unseal(changed, pair, pair.public_key()), "byte " << i);
  }
}

BOOST_AUTO_TEST_CASE(a_point_of_small_order_is_no_reader) {
  BOOST_CHECK_THROW((void)seal(some_secret(), KeyPair::random(), PublicKey{}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
