/** Raw driver error in, safe public error envelope out. */
package dev.retort.contract;
