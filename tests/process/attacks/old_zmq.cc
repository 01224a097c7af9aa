// Loaded before libzmq, it makes a process believe that it has an old one: that is the only thing a program can ask.
extern "C" void zmq_version(int* major, int* minor, int* patch) {
  *major = 4;
  *minor = 2;
  *patch = 5;
}
