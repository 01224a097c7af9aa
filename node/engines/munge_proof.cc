#include "node/engines/munge_proof.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <sodium.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "node/keys/word_lines.h"

#if __has_include(<munge.h>)
#include <munge.h>

namespace troupe::detail {
namespace {

constexpr const char* kLibrary = "libmunge.so.2";
constexpr std::size_t kHashBytes = 32;

/// What a credential carries: a user's credentials for other purposes do not begin so.
std::string statement_on(std::string_view text) {
  std::array<std::byte, kHashBytes> hash{};
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr, 0);
  return "troupe-record " + hex_of(hash);
}

/// A munged that ends while it is asked must not end this process. Thread rule: the process has one thread.
class WithoutSigpipe {
 public:
  WithoutSigpipe() : before_(::signal(SIGPIPE, SIG_IGN)) {}
  ~WithoutSigpipe() { ::signal(SIGPIPE, before_); }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sighandler_t before_;
};

/// The functions of the library, which is never unloaded.
struct Munge {
  decltype(&::munge_encode) encode = nullptr;
  decltype(&::munge_decode) decode = nullptr;
  decltype(&::munge_strerror) strerror = nullptr;
  decltype(&::munge_ctx_create) ctx_create = nullptr;
  decltype(&::munge_ctx_destroy) ctx_destroy = nullptr;
  decltype(&::munge_ctx_get) ctx_get = nullptr;
  decltype(&::munge_ctx_set) ctx_set = nullptr;
  decltype(&::munge_ctx_strerror) ctx_strerror = nullptr;
};

template <class F>
void load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) throw ProofError(fmt::format("{} has no {}", kLibrary, name));
}

Munge load_munge() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw ProofError(fmt::format("{} cannot be loaded", kLibrary));
  Munge munge;
  load(library, "munge_encode", munge.encode);
  load(library, "munge_decode", munge.decode);
  load(library, "munge_strerror", munge.strerror);
  load(library, "munge_ctx_create", munge.ctx_create);
  load(library, "munge_ctx_destroy", munge.ctx_destroy);
  load(library, "munge_ctx_get", munge.ctx_get);
  load(library, "munge_ctx_set", munge.ctx_set);
  load(library, "munge_ctx_strerror", munge.ctx_strerror);
  return munge;
}

class MungeProof final : public RecordProof {
 public:
  /// `socket`: "" is the machine's. Throws ProofError if no munged answers there.
  MungeProof(const Munge& munge, std::string socket) : munge_(munge), socket_(std::move(socket)) {
    const std::string said = statement_on("");
    const Credential own = decode(encode(said, MUNGE_UID_ANY));
    if (!own.is_genuine || own.statement != said)
      throw ProofError("MUNGE does not know its own credential: " + own.reason);
    user_ = own.user;
  }

  [[nodiscard]] std::string of(std::string_view text) override { return encode(statement_on(text), user_); }

  void check(const std::string& proof, std::string_view text) override {
    const Credential credential = decode(proof);
    if (!credential.is_genuine) throw std::invalid_argument("MUNGE: " + credential.reason);
    if (credential.user != user_) {
      throw std::invalid_argument(fmt::format("user {} has written it, expected {}", credential.user, user_));
    }
    if (credential.statement != statement_on(text)) {
      throw std::invalid_argument("its MUNGE credential is of another text");
    }
  }

 private:
  using Context = std::unique_ptr<munge_ctx, decltype(&::munge_ctx_destroy)>;

  struct Credential {
    bool is_genuine = false;
    std::string reason;     ///< if it is not genuine
    uid_t user = 0;         ///< if it is, who has asked for it
    std::string statement;  ///< if it is
  };

  template <class Value>
  void set(const Context& context, munge_opt option, Value value) const {
    const munge_err_t error = munge_.ctx_set(context.get(), option, value);
    if (error != EMUNGE_SUCCESS) throw ProofError(fmt::format("MUNGE: {}", munge_.strerror(error)));
  }

  [[nodiscard]] Context make_context() const {
    Context context(munge_.ctx_create(), munge_.ctx_destroy);
    if (context == nullptr) throw std::bad_alloc();
    if (!socket_.empty()) set(context, MUNGE_OPT_SOCKET, socket_.c_str());
    return context;
  }

  [[nodiscard]] std::string reason(const Context& context, munge_err_t error) const {
    const char* text = munge_.ctx_strerror(context.get());
    return text != nullptr ? text : munge_.strerror(error);
  }

  /// Returns a credential that `reader` can decode, or anybody. Throws ProofError.
  [[nodiscard]] std::string encode(const std::string& statement, uid_t reader) const {
    const WithoutSigpipe safe;
    const Context context = make_context();
    set(context, MUNGE_OPT_UID_RESTRICTION, reader);
    set(context, MUNGE_OPT_TTL, static_cast<int>(MUNGE_TTL_MAXIMUM));
    char* made = nullptr;
    const munge_err_t error = munge_.encode(&made, context.get(), statement.data(), static_cast<int>(statement.size()));
    const std::unique_ptr<char, decltype(&std::free)> held(made, &std::free);
    if (error != EMUNGE_SUCCESS) throw ProofError("MUNGE: " + reason(context, error));
    return made;
  }

  /// Throws ProofError if no munged answers.
  [[nodiscard]] Credential decode(const std::string& credential) const {
    const WithoutSigpipe safe;
    const Context context = make_context();
    void* payload = nullptr;
    int size = 0;
    uid_t user = MUNGE_UID_ANY;
    gid_t group = MUNGE_GID_ANY;
    const munge_err_t error = munge_.decode(credential.c_str(), context.get(), &payload, &size, &user, &group);
    const std::unique_ptr<void, decltype(&std::free)> held(payload, &std::free);
    if (error == EMUNGE_SOCKET) throw ProofError("MUNGE: " + reason(context, error));
    // Keys say which life a record is of: several tasks of a machine read it, and clocks differ.
    const bool is_genuine = error == EMUNGE_SUCCESS || error == EMUNGE_CRED_REPLAYED || error == EMUNGE_CRED_EXPIRED ||
                            error == EMUNGE_CRED_REWOUND;
    if (is_genuine)
      return {true, "", user, std::string(static_cast<const char*>(payload), static_cast<std::size_t>(size))};
    const char* hint = error == EMUNGE_CRED_INVALID
                           ? " (do all machines have the same key of MUNGE? --munge names another socket, or off)"
                           : "";
    return {false, reason(context, error) + hint, 0, ""};
  }

  const Munge munge_;
  const std::string socket_;
  uid_t user_ = static_cast<uid_t>(
      MUNGE_UID_ANY);  ///< this user as the munged knows it: not by the number that a namespace of users gives it
};

/// Returns where the library expects a munged.
std::string usual_socket(const Munge& munge) {
  char* path = nullptr;
  const std::unique_ptr<munge_ctx, decltype(&::munge_ctx_destroy)> context(munge.ctx_create(), munge.ctx_destroy);
  if (context == nullptr) throw std::bad_alloc();
  const munge_err_t error = munge.ctx_get(context.get(), MUNGE_OPT_SOCKET, &path);
  if (error != EMUNGE_SUCCESS || path == nullptr) throw ProofError("MUNGE: it does not say where its socket is");
  return path;
}

/// A machine without libmunge or without a socket has no MUNGE. One that has both, and does not answer, must not pass
/// for such: whoever keeps a munged busy would be believed without a proof.
ProofChoice machines_munge(std::string socket) {
  Munge munge;
  try {
    munge = load_munge();
  } catch (const ProofError& error) {
    return {nullptr, error.what()};
  }
  if (socket.empty()) socket = usual_socket(munge);
  if (::access(socket.c_str(), F_OK) != 0 && errno == ENOENT) return {nullptr, fmt::format("there is no {}", socket)};
  try {
    return {std::make_shared<MungeProof>(munge, socket), ""};
  } catch (const ProofError& error) {
    throw ProofError(fmt::format("{}: `--munge off` lets all tasks do without", error.what()));
  }
}

}  // namespace

ProofChoice munge_proof(const std::string& wanted, Engine engine, const std::string& machines_socket) {
  if (wanted == "off") return {nullptr, "--munge is off"};
  if (wanted == kMungeDefault) {
    return engine == Engine::slurm ? machines_munge(machines_socket) : ProofChoice{nullptr, "it is no task of Slurm"};
  }
  if (!wanted.starts_with('/')) {
    throw ProofError(fmt::format("--munge is \"{}\", expected auto, off or the absolute path of a socket", wanted));
  }
  return {std::make_shared<MungeProof>(load_munge(), wanted), ""};
}

}  // namespace troupe::detail

#else

namespace troupe::detail {

ProofChoice munge_proof(const std::string& wanted, Engine, const std::string&) {
  constexpr const char* kNotBuilt = "this build has no MUNGE (munge.h was not there)";
  if (wanted == "off") return {nullptr, "--munge is off"};
  if (wanted != kMungeDefault) throw ProofError(kNotBuilt);
  return {nullptr, kNotBuilt};
}

}  // namespace troupe::detail

#endif
