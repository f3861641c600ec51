package drivers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// account lends root the one without rights: servers refuse to run as root.
func account(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func folder(t *testing.T, owner *syscall.SysProcAttr) string {
	t.Helper()
	path, err := os.MkdirTemp("", "retort-go-")
	if err != nil {
		t.Fatal(err)
	}
	if owner != nil {
		if err := os.Chown(path, int(owner.Credential.Uid), int(owner.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	return path
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func command(owner *syscall.SysProcAttr, path, program string, arguments ...string) *exec.Cmd {
	made := exec.Command(program, arguments...)
	made.Dir, made.SysProcAttr = path, owner
	made.Env = append(os.Environ(), "HOME="+path)
	return made
}

// serve runs a server until the test ends, and waits until the check succeeds.
func serve(t *testing.T, server *exec.Cmd, stop syscall.Signal, check func() error) {
	t.Helper()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(stop)
		_ = server.Wait()
	})
	for range 600 {
		if check() == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server does not answer")
}

// startPostgres starts PostgreSQL with the superuser retort and no password.
func startPostgres(t *testing.T) int {
	t.Helper()
	versions, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(versions) == 0 {
		t.Fatal("PostgreSQL is not installed")
	}
	bin, owner := versions[len(versions)-1], account(t)
	path, port := folder(t, owner), strconv.Itoa(freePort(t))
	data := filepath.Join(path, "data")
	if output, err := command(owner, path, filepath.Join(bin, "initdb"), "-D", data, "-U", "retort", "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	server := command(owner, path, filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-c", "fsync=off",
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+path)
	serve(t, server, syscall.SIGINT, func() error {
		return exec.Command(filepath.Join(bin, "pg_isready"), "-h", "127.0.0.1", "-p", port, "-q").Run()
	})
	number, _ := strconv.Atoi(port)
	return number
}

// startMariadb starts MariaDB with the user retort, no password, and the database test.
func startMariadb(t *testing.T) int {
	t.Helper()
	owner := account(t)
	path, port := folder(t, owner), freePort(t)
	data, socket := filepath.Join(path, "data"), filepath.Join(path, "socket")
	install := command(owner, path, "mariadb-install-db", "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")
	if output, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	server := command(owner, path, "/usr/sbin/mariadbd", "--no-defaults", "--datadir="+data, "--socket="+socket,
		fmt.Sprintf("--port=%d", port), "--pid-file="+filepath.Join(path, "pid"), "--bind-address=127.0.0.1", "--innodb-lock-wait-timeout=1")
	setup := "CREATE DATABASE test; CREATE USER retort@localhost; GRANT ALL ON *.* TO retort@localhost;"
	serve(t, server, syscall.SIGTERM, func() error {
		return exec.Command("mariadb", "--no-defaults", "-u", "root", "-S", socket, "-e", setup).Run()
	})
	return port
}
