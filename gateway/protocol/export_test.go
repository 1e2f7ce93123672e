package protocol

// Described reports whether a method's parameters are known.
func Described(method string) bool { return shapes()[method] != nil }
