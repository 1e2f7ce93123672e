package pages

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	sqlite3lib "modernc.org/sqlite/lib"
)

// VFS is the name of the VFS that opens a File. System is that of the operating system's files, which a connection
// needs to attach one of them beside a File.
const VFS = "openclawd-pages"

// System is the name of SQLite's default VFS.
func System() (string, error) {
	if err := register(); err != nil {
		return "", err
	}
	return system, nil
}

// SQLite keeps the addresses of these.
var (
	vfs     sqlite3lib.Tsqlite3_vfs
	methods sqlite3lib.Tsqlite3_io_methods
	system  string
)

// handle is what SQLite holds of an open File.
type handle struct {
	methods uintptr
	number  uintptr // in handles
}

// handles are the files that connections have open.
var handles struct {
	sync.RWMutex
	last uintptr
	open map[uintptr]*File
}

// register adds the VFS to SQLite, once.
var register = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	own := sqlite3lib.Xsqlite3_vfs_find(tls, 0)
	if own == 0 {
		return errors.New("SQLite has no VFS")
	}
	base := (*sqlite3lib.Tsqlite3_vfs)(pointer(own))
	system = libc.GoString(base.FzName)
	name, err := libc.CString(VFS)
	if err != nil {
		return err
	}
	handles.open = map[uintptr]*File{}
	vfs = *base // randomness, sleep and time are the system's
	vfs.FiVersion, vfs.FpNext, vfs.FzName, vfs.FpAppData = 2, 0, name, base.FpAppData
	vfs.FszOsFile = int32(unsafe.Sizeof(handle{}))
	vfs.FxOpen = function(open)
	vfs.FxDelete = function(remove)
	vfs.FxAccess = function(access)
	vfs.FxFullPathname = function(fullPathname)
	vfs.FxSetSystemCall, vfs.FxGetSystemCall, vfs.FxNextSystemCall = 0, 0, 0
	methods = sqlite3lib.Tsqlite3_io_methods{
		FiVersion: 1, FxClose: function(closeFile), FxRead: function(read), FxWrite: function(write), FxTruncate: function(truncate),
		FxSync: function(ignore), FxFileSize: function(fileSize), FxLock: function(ignore), FxUnlock: function(ignore),
		FxCheckReservedLock: function(checkReservedLock), FxFileControl: function(fileControl), FxSectorSize: function(sectorSize),
		FxDeviceCharacteristics: function(zero),
	}
	if code := sqlite3lib.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(&vfs)), 0); code != sqlite3lib.SQLITE_OK {
		return fmt.Errorf("register a VFS: SQLite answers %d", code)
	}
	return nil
})

// function is the address of a Go function as translated C code calls it.
func function[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// pointer is an address in memory that Go does not manage.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func fileOf(address uintptr) *File {
	h := (*handle)(pointer(address))
	handles.RLock()
	defer handles.RUnlock()
	return handles.open[h.number]
}

// open refuses everything but a known File: journals, and temporary files, which connections keep in memory.
func open(_ *libc.TLS, _, name, address uintptr, flags int32, out uintptr) int32 {
	h := (*handle)(pointer(address))
	*h = handle{}
	if name == 0 || flags&sqlite3lib.SQLITE_OPEN_MAIN_DB == 0 {
		return sqlite3lib.SQLITE_CANTOPEN
	}
	known, found := files.Load(libc.GoString(name))
	if !found {
		return sqlite3lib.SQLITE_CANTOPEN
	}
	f := known.(*File)
	if f.dir == nil {
		flags = flags&^(sqlite3lib.SQLITE_OPEN_READWRITE|sqlite3lib.SQLITE_OPEN_CREATE) | sqlite3lib.SQLITE_OPEN_READONLY
	}
	if out != 0 {
		*(*int32)(pointer(out)) = flags
	}
	handles.Lock()
	defer handles.Unlock()
	handles.last++
	handles.open[handles.last] = f
	*h = handle{uintptr(unsafe.Pointer(&methods)), handles.last}
	return sqlite3lib.SQLITE_OK
}

func closeFile(_ *libc.TLS, address uintptr) int32 {
	h := (*handle)(pointer(address))
	handles.Lock()
	defer handles.Unlock()
	delete(handles.open, h.number)
	return sqlite3lib.SQLITE_OK
}

func read(_ *libc.TLS, address, into uintptr, n int32, offset int64) int32 {
	f := fileOf(address)
	whole, err := f.readAt(unsafe.Slice((*byte)(pointer(into)), n), offset)
	switch {
	case err != nil:
		f.failed.Store(&err)
		return sqlite3lib.SQLITE_IOERR_READ
	case !whole:
		return sqlite3lib.SQLITE_IOERR_SHORT_READ
	}
	return sqlite3lib.SQLITE_OK
}

func write(_ *libc.TLS, address, content uintptr, n int32, offset int64) int32 {
	f := fileOf(address)
	err := f.writeAt(unsafe.Slice((*byte)(pointer(content)), n), offset)
	switch {
	case err == nil:
		return sqlite3lib.SQLITE_OK
	case errors.Is(err, errReadOnly):
		return sqlite3lib.SQLITE_READONLY
	}
	f.failed.Store(&err)
	if errors.Is(err, syscall.ENOSPC) {
		return sqlite3lib.SQLITE_FULL
	}
	return sqlite3lib.SQLITE_IOERR_WRITE
}

func truncate(_ *libc.TLS, address uintptr, bytes int64) int32 {
	if err := fileOf(address).truncate(bytes); err != nil {
		return sqlite3lib.SQLITE_IOERR_TRUNCATE
	}
	return sqlite3lib.SQLITE_OK
}

func fileSize(_ *libc.TLS, address, out uintptr) int32 {
	*(*int64)(pointer(out)) = int64(fileOf(address).size) * Size
	return sqlite3lib.SQLITE_OK
}

// ignore is a sync, which nothing here needs, and the locks: a File has one writer or none.
func ignore(*libc.TLS, uintptr, int32) int32 { return sqlite3lib.SQLITE_OK }

func checkReservedLock(_ *libc.TLS, _, out uintptr) int32 {
	*(*int32)(pointer(out)) = 0
	return sqlite3lib.SQLITE_OK
}

func fileControl(*libc.TLS, uintptr, int32, uintptr) int32 { return sqlite3lib.SQLITE_NOTFOUND }
func sectorSize(*libc.TLS, uintptr) int32                  { return Size }
func zero(*libc.TLS, uintptr) int32                        { return 0 }

// remove and access: no other file has a name here.
func remove(*libc.TLS, uintptr, uintptr, int32) int32 { return sqlite3lib.SQLITE_OK }

func access(_ *libc.TLS, _, _ uintptr, _ int32, out uintptr) int32 {
	*(*int32)(pointer(out)) = 0
	return sqlite3lib.SQLITE_OK
}

func fullPathname(_ *libc.TLS, _, name uintptr, most int32, out uintptr) int32 {
	text := libc.GoString(name)
	if len(text) >= int(most) {
		return sqlite3lib.SQLITE_CANTOPEN
	}
	copy(unsafe.Slice((*byte)(pointer(out)), most), text+"\x00")
	return sqlite3lib.SQLITE_OK
}
