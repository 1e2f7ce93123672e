package console

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3lib "modernc.org/sqlite/lib"
)

// SQLite bounds the size of a value, but not how many values a statement keeps, nor what some of its functions
// (json_group_array) hold before they return one; its heap limit applies to the whole process and would fail the
// server's own statements. Therefore SQLite allocates through hooks of ours, which pass the call to its own allocator
// and keep an account for the connections of queries only. The account is found by the connection's thread state;
// other connections pay one atomic load.

// account is the memory that SQLite holds for one connection. It is used by the goroutine that uses the connection.
type account struct {
	handle
	most int64        // bytes
	over func() error // why allocations are refused; nil if they are not
	used int64
	peak int64
	full bool // an allocation was refused because it would have exceeded most
}

// accounts are the open accounts; nil if there are none.
var (
	accounts   atomic.Pointer[[]*account]
	accountsMu sync.Mutex // held while they change
)

// openAccount starts counting what SQLite allocates for a connection. When the account is full, the running statement
// fails.
func openAccount(h handle, most int64, over func() error) (*account, error) {
	if installed != nil {
		return nil, installed
	}
	a := &account{handle: h, most: most, over: over}
	accountsMu.Lock()
	defer accountsMu.Unlock()
	var list []*account
	if was := accounts.Load(); was != nil {
		list = slices.Clone(*was)
	}
	list = append(list, a)
	accounts.Store(&list)
	return a, nil
}

// lift stops refusing allocations, so that a connection can be closed.
func (a *account) lift() { a.most, a.over = 1<<62, nil }

func (a *account) close() {
	accountsMu.Lock()
	defer accountsMu.Unlock()
	list := slices.DeleteFunc(slices.Clone(*accounts.Load()), func(b *account) bool { return a == b })
	if len(list) == 0 {
		accounts.Store(nil)
		return
	}
	accounts.Store(&list)
}

func accountOf(tls *libc.TLS) *account {
	list := accounts.Load()
	if list == nil {
		return nil
	}
	for _, a := range *list {
		if a.tls == tls {
			return a
		}
	}
	return nil
}

// gives reports whether n more bytes may be allocated.
func (a *account) gives(n int64) bool {
	if a.used+n > a.most {
		a.full = true
		a.interrupt() // some functions continue after a refused allocation and fail only at their end
		return false
	}
	return a.over == nil || a.over() == nil
}

func (a *account) add(n int64) {
	a.used += n
	a.peak = max(a.peak, a.used)
}

// own are SQLite's own memory methods, and ours that wrap them. SQLite keeps the address of ours.
var own, ours sqlite3lib.Tsqlite3_mem_methods

// installed is why no accounts are kept; nil if they are. SQLite accepts memory methods only before it opens its first
// file, so they are installed when the package is initialised.
var installed = install()

func install() error {
	tls := libc.NewTLS()
	defer tls.Close()
	if err := configure(tls, sqlite3lib.SQLITE_CONFIG_GETMALLOC, &own); err != nil {
		return err
	}
	ours = own
	ours.FxMalloc = *(*uintptr)(unsafe.Pointer(&struct {
		f func(*libc.TLS, int32) uintptr
	}{malloc}))
	ours.FxRealloc = *(*uintptr)(unsafe.Pointer(&struct {
		f func(*libc.TLS, uintptr, int32) uintptr
	}{realloc}))
	ours.FxFree = *(*uintptr)(unsafe.Pointer(&struct {
		f func(*libc.TLS, uintptr)
	}{free}))
	return configure(tls, sqlite3lib.SQLITE_CONFIG_MALLOC, &ours)
}

func configure(tls *libc.TLS, option int32, methods *sqlite3lib.Tsqlite3_mem_methods) error {
	arguments := libc.NewVaList(uintptr(unsafe.Pointer(methods)))
	defer libc.Xfree(tls, arguments)
	if code := sqlite3lib.Xsqlite3_config(tls, option, arguments); code != sqlite3lib.SQLITE_OK {
		return fmt.Errorf("bound the memory of queries: SQLite refuses option %d with code %d; it must be configured before it opens a file", option, code)
	}
	return nil
}

func malloc(tls *libc.TLS, n int32) uintptr {
	a := accountOf(tls)
	if a != nil && !a.gives(int64(n)) {
		return 0
	}
	p := (*(*func(*libc.TLS, int32) uintptr)(unsafe.Pointer(&struct{ uintptr }{own.FxMalloc})))(tls, n)
	if a != nil && p != 0 {
		a.add(sizeAt(tls, p))
	}
	return p
}

func realloc(tls *libc.TLS, p uintptr, n int32) uintptr {
	a := accountOf(tls)
	var was int64
	if a != nil {
		was = sizeAt(tls, p)
		if int64(n) > was && !a.gives(int64(n)) { // old and new may coexist for a while
			return 0
		}
	}
	q := (*(*func(*libc.TLS, uintptr, int32) uintptr)(unsafe.Pointer(&struct{ uintptr }{own.FxRealloc})))(tls, p, n)
	if a != nil && q != 0 {
		a.add(sizeAt(tls, q) - was)
	}
	return q
}

func free(tls *libc.TLS, p uintptr) {
	if a := accountOf(tls); a != nil {
		a.add(-sizeAt(tls, p))
	}
	(*(*func(*libc.TLS, uintptr))(unsafe.Pointer(&struct{ uintptr }{own.FxFree})))(tls, p)
}

// sizeAt is the size of SQLite's allocation at p.
func sizeAt(tls *libc.TLS, p uintptr) int64 {
	return int64((*(*func(*libc.TLS, uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{own.FxSize})))(tls, p))
}
