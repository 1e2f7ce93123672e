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

// SQLite bounds the size of a value, but not how many values a statement keeps, nor what some of its functions (json_group_array) hold before they
// make one; its heap limit is one for the whole process, and would fail the server's own statements. So SQLite asks memory of us, which pass it on
// to its own allocator, and keep an account for the connections of questions alone. It asks with the thread state of the connection, by which an
// account is found; all others cost one atomic load more.

// account is what SQLite holds for one connection. It is used by the goroutine that uses the connection.
type account struct {
	handle
	most int64        // bytes
	over func() error // why nothing more is given; nil for no reason
	used int64
	peak int64
	full bool // something was refused because there would have been more than most
}

// accounts are open; nil for none.
var (
	accounts   atomic.Pointer[[]*account]
	accountsMu sync.Mutex // held while they change
)

// openAccount keeps an account of what SQLite takes for a connection from now on. Once it is full, the statement that runs ends.
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

// lift refuses nothing more, so that a connection can be closed.
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

// gives reports whether n bytes more may be taken.
func (a *account) gives(n int64) bool {
	if a.used+n > a.most {
		a.full = true
		a.interrupt() // some of its functions go on without what they were refused, and fail at their end
		return false
	}
	return a.over == nil || a.over() == nil
}

func (a *account) add(n int64) {
	a.used += n
	a.peak = max(a.peak, a.used)
}

// own are SQLite's own methods for memory, and ours those that stand before them. SQLite keeps the address of ours.
var own, ours sqlite3lib.Tsqlite3_mem_methods

// installed is why no accounts are kept; nil if they are. SQLite takes methods for memory only before it opens its first file, which is why they are
// installed while the program's packages are initialised.
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
		return fmt.Errorf("bound the memory of questions: SQLite refuses option %d with code %d; it must be configured before it opens a file", option, code)
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
		if int64(n) > was && !a.gives(int64(n)) { // the old and the new one may stand side by side for a while
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

// sizeAt is how many bytes SQLite has at p.
func sizeAt(tls *libc.TLS, p uintptr) int64 {
	return int64((*(*func(*libc.TLS, uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{own.FxSize})))(tls, p))
}
